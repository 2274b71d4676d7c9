// Limits on the tiles of images, and animations as videos, sent over HTTP to a tiny InternVL in the layout of its own program.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TextModel } from '../../src/index.ts';
import { type RunningServer, startServer } from '../../src/server/lifecycle.ts';
import { openMediaModel } from '../engine/text/media/media-golden.ts';
import { FOLDER, GOLDEN } from '../models/vision/internvl-golden.ts';
import { checkReplies } from './docs/checked-replies.ts';

let model: TextModel;
let server: RunningServer;
let endChecks = (): void => {};

beforeAll(async () => {
  const log = { error: console.error, warn() {}, info() {}, debug() {} };
  server = await startServer({ host: '127.0.0.1', port: 0 }, log);
  endChecks = checkReplies(server.url);
  model = await openMediaModel({ path: `${FOLDER}/qwen2-original` });
  server.addModel().ready(model);
}, 120_000);

afterAll(async () => {
  await server?.close();
  endChecks();
  await model?.close();
});

/** Rows of one tile. */
const ROWS = 4;

async function complete(limits: object, parts: readonly [name: string, limits: object][]) {
  const images = parts.map(([name, own]) => ({
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${GOLDEN.images[name]!.file}`, ...own },
  }));
  const content = [...images, { type: 'text', text: 'Look.' }];
  const body = {
    model: 'default',
    messages: [{ role: 'user', content }],
    max_completion_tokens: 1,
    ...limits,
  };
  const { status, reply } = await send(body);
  return {
    status,
    tiles: (reply.usage?.prompt_tokens_details['image_tokens'] ?? 0) / ROWS,
    error: reply.error,
  };
}

async function send(body: object) {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const reply = (await response.json()) as {
    choices?: { token_ids: number[] }[];
    usage?: { prompt_tokens_details: Record<string, number> };
    error?: { message: string; param: string };
  };
  return { status: response.status, reply };
}

it("an image's own limits come before those of the request, and those before the model's", async () => {
  const own = GOLDEN.images['exif-turned']!.tiles;
  expect(await complete({}, [['exif-turned', {}]])).toMatchObject({ status: 200, tiles: own });
  expect(await complete({ max_dynamic_patch: 2 }, [['exif-turned', {}]])).toMatchObject({ tiles: 3 });
  const both: [string, object][] = [
    ['exif-turned', { max_dynamic_patch: 1 }],
    ['exif-turned', {}],
    ['four-to-one', { min_dynamic_patch: 6 }],
  ];
  expect(await complete({ max_dynamic_patch: 8 }, both)).toMatchObject({ tiles: 1 + 4 + 7 });
});

it('limits that no image can have are refused by their field', async () => {
  const part = 'messages.0.content.0';
  const refusals: [object, object, string, string][] = [
    [{ max_dynamic_patch: 129 }, {}, 'max_dynamic_patch', 'max_dynamic_patch must be at most 128, got 129'],
    [
      {},
      { max_dynamic_patch: 129 },
      `${part}.image_url.max_dynamic_patch`,
      `${part}.image_url.max_dynamic_patch must be at most 128, got 129`,
    ],
    [
      { max_dynamic_patch: 2 },
      { min_dynamic_patch: 3 },
      `${part}.image_url.min_dynamic_patch`,
      `${part}.image_url.url: min_dynamic_patch is 3, and max_dynamic_patch 2: give a minimum that is not above the maximum`,
    ],
  ];
  for (const [limits, own, param, message] of refusals) {
    const { status, error } = await complete(limits, [['four-to-one', own]]);
    expect({ status, error }).toMatchObject({ status: 400, error: { param, message } });
  }
});

it('animated GIF and WebP files are videos, or images where they are sent as such', async () => {
  const golden = readFileSync(`${FOLDER}/../media-images.json`, 'utf8');
  const animations = JSON.parse(golden) as { name: string; file: string }[];
  const ask = async (type: string, name: string) => {
    const { file } = animations.find((one) => one.name === name)!;
    const content = [
      { type, [type]: { url: `data:;base64,${file}` } },
      { type: 'text', text: 'What moves?' },
    ];
    const messages = [{ role: 'user', content }];
    const sampling = { temperature: 0, ignore_eos: true, max_completion_tokens: 16, return_token_ids: true };
    const { reply } = await send({ model: 'default', messages, ...sampling });
    return { ids: reply.choices?.[0]?.token_ids, tokens: reply.usage!.prompt_tokens_details };
  };
  const gif = await ask('video_url', 'animation.gif');
  expect(gif.tokens['video_tokens']).toBeGreaterThan(ROWS);
  expect(gif.tokens).not.toHaveProperty('image_tokens');
  expect((await ask('video_url', 'animation.webp')).ids).toEqual(gif.ids);
  const still = await ask('image_url', 'animation.gif');
  expect(still.tokens['image_tokens']).toBeGreaterThan(0);
  expect(still.tokens).not.toHaveProperty('video_tokens');
  expect(still.ids).not.toEqual(gif.ids);
});
