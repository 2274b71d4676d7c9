// Media that are refused while a request of another client streams, over HTTP, from a host outside: redirects to private addresses, hosts that
// are slow, and animations of thousands of frames. The streams lose nothing. The test's own host counts as one outside.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI from 'openai';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { TextModel } from '../../src/index.ts';
import { type RunningServer, startServer } from '../../src/server/lifecycle.ts';
import { type MediaGolden, openMediaGolden, openMediaModel } from '../engine/text/media/media-golden.ts';

const HOST = '127.0.0.1';
vi.mock(import('../../src/server/media/addresses.ts'), async (original) => {
  const { allowsPublic, ...rest } = await original();
  const known = allowsPublic();
  return { ...rest, allowsPublic: () => (address) => address === '127.0.0.1' || known(address) };
});

const FRAMES = 3000;
const REDIRECTS: Record<string, string> = {
  '/loopback': 'http://127.0.0.2:1/image',
  '/translated': 'http://[::ffff:10.0.0.1]/image',
  '/metadata': 'http://169.254.169.254/latest/meta-data/',
  '/network': 'https://10.0.0.1/image',
};

let golden: MediaGolden;
let model: TextModel;
let server: RunningServer;
let host: Server;
let origin = '';
let openai: OpenAI;
let image: Buffer;
let animation: Buffer;
const cut: string[] = [];

beforeAll(async () => {
  const still = sharp({ create: { width: 30, height: 30, channels: 3, background: '#a06020' } });
  image = await still.png().toBuffer();
  animation = await framesOf(FRAMES);
  host = createServer((request, reply) => {
    const { url = '' } = request;
    reply.on('close', () => void (reply.writableFinished || cut.push(url)));
    if (url in REDIRECTS) reply.writeHead(302, { location: REDIRECTS[url] }).end();
    else if (url === '/image') reply.end(image);
    else if (url === '/animation') reply.end(animation);
    else if (url === '/trickle') reply.write('\x89PNG');
  });
  host.listen(0, HOST);
  await once(host, 'listening');
  origin = `http://${HOST}:${(host.address() as AddressInfo).port}`;
  golden = await openMediaGolden('qwen2-5-vl');
  const log = { error: console.error, warn() {}, info() {}, debug() {} };
  server = await startServer({ host: HOST, port: 0, media: { mediaTimeout: 300 } }, log);
  openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'unused', maxRetries: 0, timeout: 50_000 });
  model = await openMediaModel(golden, { maxVideoFrames: FRAMES - 1, contextLength: 512 });
  server.addModel().ready(model);
}, 120_000);

afterAll(async () => {
  await server?.close();
  await model?.close();
  host?.closeAllConnections();
  host?.close();
});

/** An animation of frames of 4 × 4 pixels, which differ. */
async function framesOf(count: number): Promise<Buffer> {
  const pixels = Buffer.alloc(3 * 16 * count);
  for (let at = 0; at < pixels.length; at++) pixels[at] = (at / 48) % 2 < 1 ? 40 : 200;
  const raw = { width: 4, height: 4 * count, channels: 3 as const, pageHeight: 4 };
  return sharp(pixels, { raw, limitInputPixels: false }).gif({ effort: 1, colours: 4 }).toBuffer();
}

const TOKENS = 40;

/** The tokens of a streamed answer. `onToken` is called at the first. */
async function answer(url: string, onToken = (): void => {}): Promise<number[]> {
  const stream = await openai.chat.completions.create({
    model: 'default',
    messages: [{ role: 'user', content: [part('image_url', url)] }] as never,
    max_completion_tokens: TOKENS,
    temperature: 0,
    stream: true,
    ...({ ignore_eos: true, return_token_ids: true } as object),
  });
  const ids: number[] = [];
  for await (const { choices } of stream) {
    ids.push(...((choices[0] as { token_ids?: number[] } | undefined)?.token_ids ?? []));
    if (ids.length > 0) onToken();
  }
  return ids;
}

const part = (type: 'image_url' | 'video_url', url: string) => ({ type, [type]: { url } });

it.each<[string, 'image_url' | 'video_url', string]>([
  ['/loopback', 'image_url', 'leads to this machine or a private network'],
  ['/translated', 'image_url', 'leads to this machine or a private network'],
  ['/metadata', 'image_url', 'leads to this machine or a private network'],
  ['/network', 'video_url', 'leads to this machine or a private network'],
  ['/silent', 'image_url', 'did not arrive within 0.3 seconds (--media-timeout)'],
  ['/trickle', 'video_url', 'did not arrive within 0.3 seconds (--media-timeout)'],
  ['/animation', 'video_url', `has ${FRAMES} frames, above the limit of ${FRAMES - 1} (--max-video-frames)`],
])('%s as %s is refused, and a stream beside it loses nothing', async (path, type, message) => {
  const alone = await answer(`${origin}/image`);
  expect(alone).toHaveLength(TOKENS);
  let refused: Promise<unknown> | undefined;
  const beside = answer(`${origin}/image`, () => {
    refused ??= openai.chat.completions
      .create({
        model: 'default',
        messages: [{ role: 'user', content: [part(type, origin + path)] }] as never,
      })
      .catch((error: unknown) => error);
  });
  expect(await beside).toEqual(alone);
  expect(await refused).toMatchObject({
    status: 400,
    param: `messages.0.content.0.${type}.url`,
    message: expect.stringContaining(message) as string,
  });
  if (message.includes('arrive')) await vi.waitFor(() => expect(cut).toContain(path));
  expect(await answer(`${origin}/image`)).toEqual(alone);
});
