// The layout of KV pages: which layers share pages and tables, and how many pages a context takes.

import { describe, expect, it } from 'vitest';
import { pageLayout, wholeLayout } from '../../../../src/engine/text/kv/page-layout.ts';
import type { LayerState } from '../../../../src/models/text/blocks/architecture.ts';

const PAGE = 32;

/** Layers by their windows; bytes of a page's keys are 2048 · dims / 32 in f16. */
function layersOf(
  windows: readonly (number | null)[],
  dimsOf: (window: number | null) => number = () => 32,
): LayerState[] {
  return windows.map((window) => ({ kind: 'kv', kvHeads: 1, dims: dimsOf(window), window }));
}

/** `count` layers, every `period`th of which sees all tokens. */
function mixed(count: number, period: number, window: number): (number | null)[] {
  return Array.from({ length: count }, (_, i) => ((i + 1) % period === 0 ? null : window));
}

describe('the page layout of a model with one window has one table', () => {
  const options = { contextLength: 4096, rows: 64 };
  it.each([
    ['all tokens', [null, null, null], [null]],
    ['the same window', [256, 256], [256]],
    ['windows that hold the whole context', [4096, null, 5000], [null]],
  ])('%s', (_, windows, expected) => {
    const layout = pageLayout(layersOf(windows), 'f16', options);
    expect(layout.windows).toEqual(expected);
    expect(layout.lanes).toEqual(windows.map(() => 2048));
    expect(layout.places.map((place) => [place!.group, place!.lane, place!.offset])).toEqual(
      windows.map((_, lane) => [0, lane, 0]),
    );
  });
});

it('a layout with a window in every second layer has two groups, each with all lanes', () => {
  const layout = pageLayout(layersOf(mixed(24, 2, 128)), 'f16', { contextLength: 65536, rows: 256 });
  expect(layout.windows).toEqual([null, 128]);
  expect(layout.lanes).toHaveLength(12);
  const window = Math.ceil((128 + 256) / PAGE) + 2;
  expect(layout.pagesOf(65536)).toBe(65536 / PAGE + window);
  // A context takes about half of the bytes that it takes in one group.
  const whole = wholeLayout(layersOf(mixed(24, 2, 128)), 'f16', 256);
  expect(layout.pagesOf(65536) * layout.pageBytes).toBeLessThan(
    0.51 * whole.pagesOf(65536) * whole.pageBytes,
  );
});

it('a layout with windows in five of six layers has a place for each layer in the pages of its group', () => {
  const windows = mixed(34, 6, 1024);
  const layout = pageLayout(layersOf(windows), 'f16', { contextLength: 131072, rows: 512 });
  expect(layout.windows).toEqual([null, 1024, 1024, 1024, 1024, 1024, 1024]);
  expect(layout.lanes).toHaveLength(5);
  const places = layout.places.map((place) => JSON.stringify(place));
  expect(new Set(places).size).toBe(34);
  windows.forEach((window, i) => expect(layout.windows[layout.places[i]!.group]).toBe(window));
  const whole = wholeLayout(layersOf(windows), 'f16', 512);
  expect(layout.pagesOf(131072) * layout.pageBytes).toBeLessThan(
    0.25 * whole.pagesOf(131072) * whole.pageBytes,
  );
});

it('smaller layers share a lane, side by side, and count pages of their own size', () => {
  const windows = mixed(8, 2, 64);
  const layers = layersOf(windows, (window) => (window === null ? 64 : 32));
  const layout = pageLayout(layers, 'f16', { contextLength: 8192, rows: 16 });
  // Four layers of 4096 bytes fill both lanes of two groups, four of 2048 bytes those of one.
  expect(layout.lanes).toEqual([4096, 4096]);
  expect(layout.groups).toEqual([
    { window: null, scale: 1 },
    { window: null, scale: 1 },
    { window: 64, scale: 2 },
  ]);
  const near = layout.places.filter((_, i) => windows[i] !== null);
  expect(near.map((place) => [place!.lane, place!.offset])).toEqual([
    [0, 0],
    [0, 2048],
    [1, 0],
    [1, 2048],
  ]);
});

it('layers that see all tokens and have smaller pages share a lane, too', () => {
  const windows = mixed(60, 6, 1024);
  const layers = layersOf(windows, (window) => (window === null ? 64 : 128));
  const layout = pageLayout(layers, 'f16', { contextLength: 262144, rows: 512 });
  expect(layout.lanes).toHaveLength(5);
  expect(layout.groups).toEqual([
    { window: null, scale: 2 },
    ...Array.from({ length: 10 }, () => ({ window: 1024, scale: 1 })),
  ]);
});

it('a small limit on buffers keeps all layers in one group', () => {
  const layers = layersOf(mixed(12, 6, 32));
  const options = { contextLength: 8192, rows: 16 };
  const pages = (count: number) => pageLayout(layers, 'f16', options, 2048 * count);
  expect(pages(5).groups).toHaveLength(1);
  expect(pages(64).groups).toHaveLength(6);
});

it('layers with states have no place in pages', () => {
  const layers: LayerState[] = [{ kind: 'slot', values: 8 }, ...layersOf([64, null])];
  const { places } = pageLayout(layers, 'f16', { contextLength: 4096, rows: 16 });
  expect(places.map((place) => place?.group ?? null)).toEqual([null, 1, 0]);
});

it('a layout has one group if windows save nothing', () => {
  const windows = [null, null, null, 1000];
  const { groups } = pageLayout(layersOf(windows), 'f16', { contextLength: 1024, rows: 64 });
  expect(groups).toHaveLength(1);
});

it('a context is as long as its pages allow, and no longer', () => {
  const layout = pageLayout(layersOf(mixed(6, 2, 100)), 'f16', { contextLength: 8192, rows: 28 });
  const window = Math.ceil(128 / PAGE) + 2;
  expect(layout.contextWithin(4)).toBe(2 * PAGE); // both groups hold every page of a short context
  expect(layout.contextWithin(100)).toBe((100 - window) * PAGE);
  expect(layout.pagesOf(layout.contextWithin(100))).toBe(100);
  expect(layout.pagesOf(layout.contextWithin(100) + 1)).toBe(101);
  const windowed = pageLayout(layersOf([64, 64]), 'f16', { contextLength: 8192, rows: 32 });
  expect([windowed.contextWithin(4), windowed.contextWithin(5)]).toEqual([4 * PAGE, Infinity]);
});

it.each(['fp8_e4m3', 'int8', 'int4'] as const)('layers in %s share pages as they do in f16', (format) => {
  const options = { contextLength: 65536, rows: 256 };
  // Heads of the two kinds of layers take the same bytes together.
  const layers = mixed(24, 6, 512).map((window): LayerState => {
    const isWhole = window === null;
    return { kind: 'kv', kvHeads: isWhole ? 4 : 8, dims: isWhole ? 512 : 256, window };
  });
  const [halves, codes] = [pageLayout(layers, 'f16', options), pageLayout(layers, format, options)];
  expect(codes.groups).toEqual(halves.groups);
  expect(halves.pageBytes / codes.pageBytes).toBeGreaterThan(format === 'int4' ? 3.7 : 1.9);
});

it('several layers of a lane begin where bindings may', () => {
  const layers = mixed(12, 2, 128).map((window): LayerState => ({
    kind: 'kv',
    kvHeads: window === null ? 2 : 1,
    dims: 64,
    window,
  }));
  const { places } = pageLayout(layers, 'int8', { contextLength: 65536, rows: 16 });
  expect(places.filter((place) => place!.offset % 256 !== 0)).toEqual([]);
});
