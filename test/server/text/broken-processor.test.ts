// A WGSL processor that returns NaN, over HTTP on the engine: a 400 that names its field, or the error event of a stream that has begun.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TextModel } from '../../../src/index.ts';
import { type RunningServer, startServer } from '../../../src/server/lifecycle.ts';
import { openGolden } from '../../engine/fixture.ts';

let server: RunningServer;
let model: TextModel;

beforeAll(async () => {
  server = await startServer(
    { host: '127.0.0.1', port: 0 },
    { error: console.error, warn() {}, info() {}, debug() {} },
  );
  const served = server.addModel();
  model = await openGolden('qwen3', { customLogitProcessors: true });
  served.ready(model);
});

afterAll(async () => {
  await server?.close();
  await model?.close();
});

/** A function that returns NaN from a position on. */
const processor = (from: number): string =>
  JSON.stringify({
    name: 'wgsl',
    source: `fn process(token: u32, logit: f32, position: u32, count: u32) -> f32 {
      return select(logit, sqrt(-1.0 - logit * logit), position >= ${from}u);
    }`,
  });

function complete(from: number, stream: boolean): Promise<Response> {
  const body = {
    model: model.info.name,
    prompt: [5, 9, 40, 3],
    max_tokens: 8,
    ignore_eos: true,
    stream,
    custom_logit_processor: processor(from),
  };
  return fetch(`${server.url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

const ERROR = {
  type: 'invalid_request_error',
  param: 'custom_logit_processor',
  message: expect.stringContaining('returns NaN or infinity') as string,
};

it.each([
  ['the first', 0],
  ['a later', 8],
])('a broken processor makes a whole reply a 400: NaN at %s token', async (_, from) => {
  const response = await complete(from, false);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: ERROR });
});

it.each([
  ['the first', 0],
  ['a later', 8],
])('a broken processor ends a stream with the error: NaN at %s token', async (_, from) => {
  const response = await complete(from, true);
  const text = await response.text();
  const events = text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [line.slice(6)] : []));
  const last = JSON.parse(events.at(-1) ?? text) as object;
  expect(last).toMatchObject({ error: ERROR });
});
