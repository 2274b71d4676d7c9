// Requests that end, or wait again, while the tokens of their image are being computed: what is cached ends inside the image, and the next
// computation goes on there.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { TextEvent, TextModel, TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import type { Json } from '../../../../src/models/config-values.ts';
import { openMediaGolden, openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const SIDE = 252;
/** Tokens of an image in cells of 12 × 12 pixels. */
const TOKENS = (SIDE / 12) ** 2;
const PAGE = 32;

const folder = mkdtempSync(join(tmpdir(), 'large-images-'));
let model: TextModel;
beforeAll(async () => {
  const { path } = await openMediaGolden('qwen2-5-vl');
  cpSync(path, folder, { recursive: true });
  const file = join(folder, 'preprocessor_config.json');
  const stored = JSON.parse(readFileSync(file, 'utf8')) as Json;
  writeFileSync(file, JSON.stringify({ ...stored, size: { shortest_edge: 1, longest_edge: 2 ** 20 } }));
  model = await openMediaModel({ path: folder }, { prefillChunk: 16, maxRunningRequests: 1 });
});
afterAll(async () => {
  await model.close();
  rmSync(folder, { recursive: true });
});

const request: TextRequest = {
  prompt: {
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'image',
            image: {
              width: SIDE,
              height: SIDE,
              data: Uint8Array.from({ length: 3 * SIDE ** 2 }, (_, i) => (i * 7919) % 251),
            },
          },
          { type: 'text', text: 'What is this?' },
        ],
      },
    ],
  },
  temperature: 0,
  maxTokens: 12,
  ignoreEos: true,
};

/** Calls `inside` once, when the first tokens of the image are computed; → all events */
async function eventsOf(
  { inside = () => {}, signal }: { inside?: () => void; signal?: AbortSignal } = {},
  asked = request,
): Promise<TextEvent[]> {
  const events: TextEvent[] = [];
  let isInside = false;
  for await (const event of model.generate(asked, signal && { signal })) {
    events.push(event);
    if (event.type !== 'prefill' || isInside || event.processed < 3 * PAGE) continue;
    isInside = true;
    inside();
  }
  return events;
}

const idsOf = (events: readonly TextEvent[]): number[] =>
  events.flatMap((event) => (event.type === 'delta' ? event.ids : []));

const progressOf = (events: readonly TextEvent[]): number[] =>
  events.flatMap((event) => (event.type === 'prefill' ? [event.processed] : []));

const cachedOf = (events: readonly TextEvent[]): number =>
  events.findLast((event) => event.type === 'prefill')!.cachedTokens;

it('a request that is preempted inside its image continues with the same tokens', async () => {
  const alone = await eventsOf();
  await model.flushCache();
  const before = (await model.metrics()).retractions;
  const text: TextRequest = { prompt: { text: 'Hello' }, temperature: 0, maxTokens: 3, priority: 100 };
  let urgent: Promise<TextEvent[]> | undefined;
  const events = await eventsOf({ inside: () => void (urgent = eventsOf({}, text)) });
  const progress = progressOf(events).find((processed) => processed >= 3 * PAGE)!;
  expect(idsOf(await urgent!)).toHaveLength(3);
  expect((await model.metrics()).retractions).toBe(before + 1);
  expect(progress).toBeLessThan(TOKENS / 2);
  expect(idsOf(events)).toEqual(idsOf(alone));
});

it('a prefix that ends inside an image is continued there', async () => {
  await model.flushCache();
  const alone = idsOf(await eventsOf());
  await model.flushCache();
  const controller = new AbortController();
  const ended = await eventsOf({ inside: () => controller.abort(), signal: controller.signal });
  expect(ended.at(-1)).toMatchObject({ type: 'done', finishReason: 'abort' });
  const again = await eventsOf();
  const cached = cachedOf(again);
  expect(cached).toBeGreaterThanOrEqual(2 * PAGE);
  expect(cached).toBeLessThan(TOKENS);
  expect(idsOf(again)).toEqual(alone);
});
