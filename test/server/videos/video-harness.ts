// A server on a fake model that draws clips of three frames at eight a second, with what its tests send and read.

import OpenAI from 'openai';
import type { z } from 'zod';
import type { Video } from '../../../src/server/videos/video-reply-schema.ts';
import type { ServerOptions } from '../../../src/server/service/service.ts';
import { type FakeServedImageModel, openFakeImageModel } from '../fake-image-model.ts';
import { eventually, type Harness, start } from '../harness.ts';

export type VideoBody = z.infer<typeof Video> & {
  error: { message: string; code: string; param?: string | null } | null;
};

export interface VideoHarness extends Omit<Harness, 'model'> {
  model: FakeServedImageModel;
  /** SGLang's fields stand beside OpenAI's. */
  client: OpenAI;
  create: (body: object) => Promise<Response>;
  /** Asks for a video that is accepted. */
  created: (body?: object) => Promise<VideoBody>;
  at: (id: string) => Promise<VideoBody>;
  /** Waits until a video has ended. */
  ended: (id: string) => Promise<VideoBody>;
}

export async function startVideos(options: Partial<ServerOptions> = {}): Promise<VideoHarness> {
  const harness = await start(options, { ready: false });
  const model = await openFakeImageModel({ frames: 3, fps: 8 });
  harness.served.ready(model);
  const client = new OpenAI({ baseURL: `${harness.url}/v1`, apiKey: 'unused', maxRetries: 0 });
  const create = (body: object) =>
    fetch(`${harness.url}/v1/videos`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      // A thread encodes MP4, which takes longer than all else here.
      body: JSON.stringify({ prompt: 'a wave', output_format: 'webp', ...body }),
    });
  const read = async (response: Response) => (await response.json()) as VideoBody;
  const at = async (id: string) => read(await fetch(`${harness.url}/v1/videos/${id}`));
  const ended = async (id: string) => {
    const statuses = ['completed', 'failed', 'cancelled'];
    let last = await at(id);
    for (const deadline = Date.now() + 5000; !statuses.includes(last.status); last = await at(id))
      if (Date.now() > deadline) throw new Error(`${id} is still ${last.status}`);
    return last;
  };
  const created = async (body: object = {}) => {
    const response = await create(body);
    if (response.status !== 200) throw new Error(await response.text());
    return read(response);
  };
  return { ...harness, model, client, create, created, at, ended };
}

/** Lets the model draw something that does not end. */
export async function occupy({ created, model }: VideoHarness): Promise<VideoBody> {
  const video = await created({ prompt: 'hang' });
  await eventually(() => model.running === 1, 'it is drawn');
  return video;
}
