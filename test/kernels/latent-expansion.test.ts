// When expanding latents pays, and how much is expanded at a time.

import { expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import {
  expandedCapacity,
  expandedEnd,
  paysExpanding,
  segmentsOf,
} from '../../src/kernels/latent-expansion.ts';

const V3 = {
  heads: 128,
  rank: 512,
  plain: 128,
  rotated: 64,
  values: 128,
  scale: 1,
  pairs: 'adjacent',
} as const;

it('whole prompts pay, few rows behind many tokens do not, and 171 always do', () => {
  expect(paysExpanding(V3, { cached: 0, rows: 17 })).toBe(true);
  expect(paysExpanding(V3, { cached: 0, rows: 16 })).toBe(false);
  expect(paysExpanding(V3, { cached: 4096, rows: 160 })).toBe(false);
  expect(paysExpanding(V3, { cached: 2 ** 20, rows: 171 })).toBe(true);
  // The same arithmetic, of all multiply-adds of a head.
  const { rank, plain, rotated, values } = V3;
  for (const [cached, rows] of [
    [500, 100],
    [1000, 150],
    [300, 140],
    [64, 90],
  ] as const) {
    const pairs = rows * (cached + rows / 2);
    const absorbed = rows * rank * (plain + values) + pairs * (2 * rank + rotated);
    const expanded = (cached + rows) * rank * (plain + values) + pairs * (plain + rotated + values);
    expect(paysExpanding(V3, { cached, rows })).toBe(expanded < absorbed);
  }
});

it('a prompt is expanded up to its last chunk that pays', () => {
  const limits = { most: 512, tokens: 40_000 };
  expect(expandedEnd(V3, { cached: 0, length: 2048 }, limits)).toBe(2048);
  expect(expandedEnd(V3, { cached: 0, length: 2058 }, limits)).toBe(2048);
  expect(expandedEnd(V3, { cached: 4096, length: 4106 }, limits)).toBe(0);
  expect(expandedEnd(V3, { cached: 4096, length: 5000 }, limits)).toBe(5000);
  expect(expandedEnd(V3, { cached: 0, length: 50_000 }, limits)).toBe(39_936);
});

it('segments are within the budget and a binding, and cover all pages of a step', () => {
  const on = (bindingLimit: number): Device =>
    ({ capabilities: { bindingLimit, maxWorkgroups: 65535 } }) as Device;
  const large = expandedCapacity(on(2 ** 31), V3, 5120);
  // Products of 128 heads, keys, values, and latents, in f32.
  const tokenBytes = 4 * (128 * 256 + 128 * 192 + 128 * 128 + 512 + 64);
  expect(large.segmentPages).toBe(Math.floor(2 ** 28 / (32 * tokenBytes)));
  expect(large.expandedPages).toBe(32 * large.segmentPages);
  expect(expandedCapacity(on(2 ** 31), { ...V3, heads: 16 }, 64)).toEqual({
    segmentPages: 64,
    expandedPages: 64,
  });
  expect(expandedCapacity(on(2 ** 18), { ...V3, heads: 4 }, 64).segmentPages).toBe(2);
  expect(expandedCapacity(on(2 ** 18), V3, 64).segmentPages).toBe(0);
  const segments = segmentsOf({ expandedPages: 10, segmentPages: 4 });
  const counts = (expandedPages: number) => segments.map(({ count }) => count({ expandedPages }));
  expect([counts(10), counts(5), counts(0)]).toEqual([
    [4, 4, 2],
    [4, 1, 0],
    [0, 0, 0],
  ]);
});
