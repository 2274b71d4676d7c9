// A server on a fake image model, with what its tests send and read.

import sharp from 'sharp';
import type { ServerOptions } from '../../../src/server/service/service.ts';
import { type FakeServedImageModel, openFakeImageModel } from '../fake-image-model.ts';
import { type Harness, start } from '../harness.ts';

export interface ImageHarness extends Omit<Harness, 'model'> {
  model: FakeServedImageModel;
  generate: (body: object, init?: RequestInit) => Promise<Response>;
  edit: (form: FormData, init?: RequestInit) => Promise<Response>;
}

export async function startImages(options: Partial<ServerOptions> = {}): Promise<ImageHarness> {
  const harness = await start(options, { ready: false });
  const model = await openFakeImageModel();
  harness.served.ready(model);
  const generate = (body: object, init: RequestInit = {}) =>
    fetch(`${harness.url}/v1/images/generations`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: 'a house', ...body }),
      ...init,
    });
  const edit = (form: FormData, init: RequestInit = {}) =>
    fetch(`${harness.url}/v1/images/edits`, { method: 'POST', body: form, ...init });
  return { ...harness, model, generate, edit };
}

export interface ImageReplyBody {
  id: string;
  created: number;
  size: string;
  output_format: string;
  data: { b64_json?: string; url?: string; seed: number; revised_prompt: string }[];
  usage: object;
  error?: { message: string; code: string; param: string | null; type: string };
}

export const readReply = async (response: Response): Promise<ImageReplyBody> =>
  (await response.json()) as ImageReplyBody;

/** Returns the red value of the first pixel and the file format. The fake model paints with the seed. */
export async function look(base64: string | undefined) {
  const image = sharp(Buffer.from(base64 ?? '', 'base64'));
  const { format, width, height } = await image.metadata();
  const [red] = await image.raw().toBuffer();
  return { format, width, height, red };
}

/** Returns a PNG of one colour as a file of a form. */
export async function pngFile(width: number, height: number, background: object | string): Promise<File> {
  const channels = typeof background === 'object' ? 4 : 3;
  const bytes = await sharp({ create: { width, height, channels, background } }).png().toBuffer();
  return new File([new Uint8Array(bytes)], 'picture.png', { type: 'image/png' });
}

export function formOf(fields: Record<string, string | File | (string | File)[]>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of Array.isArray(value) ? value : [value]) form.append(name, one);
  }
  return form;
}

/** Events and comments of a stream, in order. */
export function readEvents(text: string) {
  const blocks = text.split('\n\n').filter(Boolean);
  const comments = blocks.filter((block) => block.startsWith(':'));
  const events = blocks
    .filter((block) => !block.startsWith(':'))
    .map((block) => {
      const [, name, json = ''] = /^(?:event: (.*)\n)?data: (.*)$/.exec(block) ?? [];
      const data = JSON.parse(json) as Record<string, unknown>;
      return { name, data };
    });
  return { comments, events };
}
