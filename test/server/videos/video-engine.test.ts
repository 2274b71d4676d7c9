// Videos of a family that draws clips through the server and the engine: tests that a fake model cannot make.

import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type RunningServer, startServer } from '../../../src/server/lifecycle.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { openRipple, type Ripple } from '../../engine/image/families/ripple.ts';
import { useOwnDevices } from '../../engine/kept-devices.ts';
import { checkReplies } from '../docs/checked-replies.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let server: RunningServer;
let endChecks = (): void => {};
let ripple: Ripple;
let client: OpenAI;
const devices: Device[] = [];

beforeAll(async () => {
  const log = { error: console.error, warn() {}, info() {}, debug() {} };
  server = await startServer({ host: '127.0.0.1', port: 0 }, log);
  endChecks = checkReplies(server.url);
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'unused', maxRetries: 0 });
  useOwnDevices();
  ripple = await openRipple({
    ...nodePlatform,
    async openDevice(options) {
      devices.push(await nodePlatform.openDevice(options));
      return devices.at(-1)!;
    },
  });
  server.addModel({ names: ['ripple'] }).ready(ripple.model);
});

afterAll(async () => {
  await server?.close();
  endChecks();
  await ripple?.close();
});

async function ended(id: string): Promise<OpenAI.Video> {
  for (;;) {
    const video = await client.videos.retrieve(id);
    if (video.status === 'completed' || video.status === 'failed') return video;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

it('a clip is drawn as MP4, and the same seed gives the same file alone and as one of two', async () => {
  const file = async (id: string, variant: string) => {
    const content = await client.videos.downloadContent(id, { variant: variant as 'video' });
    expect(content.headers.get('content-type')).toBe('video/mp4');
    return Buffer.from(await content.arrayBuffer());
  };
  const seeds = (seed: number | number[]): object => ({ seed });
  const two = await client.videos.create({ prompt: 'a wave', model: 'ripple', ...seeds([5, 6]) });
  expect(two).toMatchObject({ model: 'ripple', size: '32x32', seconds: '0.25' });
  expect(await ended(two.id)).toMatchObject({ status: 'completed', progress: 100 });
  const one = await client.videos.create({ prompt: 'a wave', seconds: '0.25' as '4', ...seeds(6) });
  await ended(one.id);
  const alone = await file(one.id, 'video');
  expect(alone.toString('latin1', 4, 8)).toBe('ftyp');
  expect(await file(two.id, '1')).toEqual(alone);
  expect(await file(two.id, '0')).not.toEqual(alone);
});

it('values that the model refuses are refused before a video is queued, in the terms of the interface', async () => {
  const refused = async (more: object, param: string, message: RegExp) =>
    expect(client.videos.create({ prompt: 'a wave', ...more })).rejects.toMatchObject({
      status: 400,
      param,
      message: expect.stringMatching(message),
    });
  await refused({ num_frames: 4 }, 'num_frames', /num_frames is 4.*the nearest are 3 and 5/);
  await refused({ seconds: '100' }, 'seconds', /seconds is 100, which takes 1201 frames; send less for 961/);
  await refused({ size: '33x32' }, 'size', /the nearest are 32 and 40/);
  await refused({ guidance_scale_2: 3 }, 'guidance_scale_2', /guidance_scale_2/);
  await refused({ diffusers_kwargs: { wibble: 1 } }, 'diffusers_kwargs', /wibble/);
  const image = 'data:image/png;base64,iVBORw0KGgo=';
  await refused({ input_reference: image }, 'input_reference', /input_reference cannot be read/);
});

it('a model that draws clips refuses images of several frames, and draws one frame', async () => {
  const wide: object = { num_frames: 1, seed: 5 };
  await expect(client.images.generate({ prompt: 'a wave' })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('give num_frames 1, or send it to POST /v1/videos'),
  });
  const { data } = await client.images.generate({ prompt: 'a wave', ...wide });
  expect(data).toHaveLength(1);
  const models = (await (await fetch(`${server.url}/v1/models/ripple`)).json()) as object;
  expect(models).toMatchObject({ image_defaults: { num_frames: 3, fps: 12 } });
  expect((await fetch(`${server.url}/server_info`)).status).toBe(200);
});

it('a lost device fails the video that is drawn, and the next one is drawn on a new device', async () => {
  useOwnDevices();
  const create = (steps: number) => {
    const more: object = { seed: 5, num_inference_steps: steps };
    return client.videos.create({ prompt: 'a wave', ...more });
  };
  const fileOf = async ({ id }: OpenAI.Video) => {
    expect(await ended(id)).toMatchObject({ status: 'completed' });
    return Buffer.from(await (await client.videos.downloadContent(id)).arrayBuffer());
  };
  const before = await fileOf(await create(2));
  const lost = await create(50);
  const waits = await create(2);
  while ((await client.videos.retrieve(lost.id)).progress === 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
  devices.at(-1)!.destroy();
  expect(await ended(lost.id)).toMatchObject({
    status: 'failed',
    error: { code: 'device_lost', message: expect.stringContaining('the GPU device was lost') },
  });
  expect(await fileOf(waits)).toEqual(before);
  expect(devices).toHaveLength(2);
});
