// Models whose layers all have a window release pages that no query sees: a long context in few pages gives the same tokens as with
// pages for all of it.

import { afterAll, describe, expect, it } from 'vitest';
import { PAGE_TOKENS } from '../../../src/kernels/batch.ts';
import type { TextModel } from '../../../src/engine/text/calls/text-model.ts';
import { firstVisiblePage, widestWindow, windowPages } from '../../../src/engine/text/kv/pages.ts';
import type { PageNode } from '../../../src/engine/text/cache/cached-page.ts';
import { keysOf } from '../../../src/engine/text/cache/sequence-pages.ts';
import { Scheduler } from '../../../src/engine/text/run/scheduler.ts';
import { collect, greedy, openGolden } from '../fixture.ts';
import { paperSequence } from './paper-sequence.ts';

const WINDOW = 24;
const ROWS = 16;
const CONFIG = { sliding_window: WINDOW, max_position_embeddings: 512 };
/** Fewer than half of one context's pages. */
const PAGES = 7;

const opened: TextModel[] = [];
async function openWindowed(maxTotalTokens: number): Promise<TextModel> {
  const options = { prefillChunk: ROWS, maxRunningRequests: 2, maxTotalTokens };
  const model = await openGolden('mistral', { config: CONFIG, ...options });
  opened.push(model);
  return model;
}
afterAll(() => Promise.all(opened.map((model) => model.close())));

const promptOf = (length: number, seed: number): number[] =>
  Array.from({ length }, (_, i) => (seed + 31 * i + i * i) % 200);

it('a long context takes the pages of its window, and has the same tokens', async () => {
  const roomy = await openWindowed(4096);
  const tight = await openWindowed(PAGES * PAGE_TOKENS);
  expect(tight.info.contextLength).toBe(512);
  expect((await tight.metrics()).pages.total).toBe(PAGES);
  expect(windowPages(WINDOW, ROWS)).toBeLessThanOrEqual(PAGES);
  const requests = [
    greedy(promptOf(300, 3), 100),
    greedy(promptOf(10, 5), 300),
    greedy(promptOf(300, 3), 150),
  ];
  const wanted = await Promise.all(requests.map((request) => collect(roomy.generate(request))));
  const found = await Promise.all(requests.map((request) => collect(tight.generate(request))));
  expect(found.map(({ ids }) => ids)).toEqual(wanted.map(({ ids }) => ids));
  expect(found.map(({ ids }) => ids[0]!.length)).toEqual([100, 300, 150]);
  // Runs again with the pages that the prefix cache has by now.
  const again = await collect(tight.generate(requests[2]!));
  expect(again.ids).toEqual(wanted[2]!.ids);
});

describe('the scheduler with windows', () => {
  const limits = { pages: 16, slots: 2, rows: ROWS, windows: [WINDOW] };

  it.each([true, false])('holds no more pages than the window and a step take; shared %s', (isShared) => {
    const scheduler = new Scheduler(limits);
    const sequence = paperSequence(promptOf(450, 1), 9, isShared ? {} : { shareable: 0 });
    scheduler.add(sequence);
    let most = 0;
    for (let step = 0; sequence.progress.computed < 450 && step < 100; step++) {
      const { computed } = sequence.progress;
      scheduler.plan();
      const { length, passedPages } = sequence.placement;
      most = Math.max(most, length - passedPages[0]!);
      expect(passedPages).toEqual([firstVisiblePage(computed, WINDOW)]);
    }
    expect(sequence.progress.computed).toBe(450);
    expect(most).toBeLessThanOrEqual(windowPages(WINDOW, ROWS));
    sequence.finish('abort', null);
    scheduler.sweep();
    expect(scheduler.pages.available).toBe(limits.pages);
  });

  it('loads pages from the host although a page before the window is evicted for them', () => {
    const { pages } = new Scheduler({ ...limits, pages: 5 });
    const sequence = paperSequence(promptOf(6 * PAGE_TOKENS + 1, 1), 9);
    const { scope } = sequence.placement.prefix;
    const nodes: PageNode[] = [];
    for (const [at, key] of keysOf(sequence, 6).entries()) {
      const node = pages.tree.child(scope, nodes.at(-1) ?? null, key);
      // The first pages are on the device alone, the last one on the host alone.
      if (at < 5) pages.tree.place(node.pages[0]!, pages.pool.take()!);
      else pages.tree.keep(node.pages[0]!, Uint8Array.of(at));
      nodes.push(node);
    }
    const path = pages.match(sequence);
    expect(path).toEqual(nodes);
    expect(pages.claim(sequence, path, 0)).toBe(true);
    expect(pages.takeLoads(sequence, 9).map(({ bytes }) => [...bytes])).toEqual([[5]]);
  });

  it('hands out pages again, to be cleared', () => {
    const scheduler = new Scheduler({ ...limits, pages: 6 });
    const sequence = paperSequence(promptOf(450, 1), 9);
    scheduler.add(sequence);
    const reused = new Set<number>();
    for (let step = 0; step < 30; step++) {
      scheduler.plan();
      for (const page of scheduler.pages.pool.takeReused()) reused.add(page);
    }
    expect(reused.size).toBeGreaterThan(0);
    expect(scheduler.pages.isWindowed).toBe(true);
  });
});

it('the widest window of layers of which one sees all tokens is all tokens', () => {
  const layer = { kind: 'kv', kvHeads: 1, dims: 16 } as const;
  expect(
    widestWindow([
      { ...layer, window: 8 },
      { ...layer, window: 40 },
    ]),
  ).toBe(40);
  expect(
    widestWindow([
      { ...layer, window: 8 },
      { ...layer, window: null },
    ]),
  ).toBeNull();
  expect(widestWindow([{ kind: 'slot', values: 4 }])).toBeNull();
});
