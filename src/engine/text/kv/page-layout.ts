// The layout of KV pages in memory. Layers that look back on different numbers of tokens need different numbers of pages, so layers are
// sorted into groups of one window, and each group has a page table of its own in every sequence. All groups take their pages from
// one pool, so no share of the memory can lie idle because another group needs it: the same pages serve many short sequences or a few
// long ones. That needs pages of one size. A page has lanes, each a pair of buffers for keys and values, or one for keys that are the
// values, too; a lane holds one layer of the group that the page belongs to, or several layers whose keys are smaller. A kind of layers with more layers than the lanes take is
// divided into several groups; lanes that a group leaves empty are lost.

import { PAGE_TOKENS, type KvFormat } from '../../../kernels/batch.ts';
import { headBytes } from '../../../kernels/kv-format.ts';
import type { KvState, LayerState } from '../../../models/text/blocks/architecture.ts';
import { pagesFor, widestWindow, windowPages } from './pages.ts';

/** Layers that share a page table. */
export interface PageGroup {
  /** Tokens that their queries look back on; null: all. */
  readonly window: number | null;
  /** Layers in a lane: kernels count pages of one layer, so page `p` has the number `p * scale` there. */
  readonly scale: number;
}

/** Position of a layer's keys and values within each page of its group. */
export interface LayerPlace {
  readonly group: number;
  readonly lane: number;
  /** Bytes from the lane's beginning. */
  readonly offset: number;
}

/** Bindings of a layer within a lane begin at multiples of this. */
const OFFSET_BYTES = 256;

/** Most groups of a model; each costs some time in every step. */
const MOST_GROUPS = 12;

interface PageLayoutParts {
  groups: readonly PageGroup[];
  /** Bytes of a page's keys (or values) by lane. */
  lanes: readonly number[];
  /** Lanes without values. */
  keysOnly?: ReadonlySet<number>;
  /** By layer; null: the layer has no pages. */
  places: readonly (LayerPlace | null)[];
}

export class PageLayout {
  readonly groups: readonly PageGroup[];
  readonly lanes: readonly number[];
  readonly keysOnly: ReadonlySet<number>;
  readonly places: readonly (LayerPlace | null)[];
  /** Bytes of a page, keys and values. */
  readonly pageBytes: number;
  readonly #rows: number;

  /** `rows`: most rows of a step. */
  constructor({ groups, lanes, keysOnly = new Set(), places }: PageLayoutParts, rows: number) {
    this.groups = groups;
    this.lanes = lanes;
    this.keysOnly = keysOnly;
    this.places = places;
    this.pageBytes = lanes.reduce((sum, bytes, lane) => sum + (keysOnly.has(lane) ? 1 : 2) * bytes, 0);
    this.#rows = rows;
  }

  get windows(): (number | null)[] {
    return this.groups.map(({ window }) => window);
  }

  /** Pages that one sequence of so many tokens holds at most. */
  pagesOf(tokens: number): number {
    return this.#sum(tokens, 1);
  }

  /** Pages that `slots` sequences hold at most with so many tokens together. */
  usefulPages(tokens: number, slots: number): number {
    // With a single group, pages before the window are of use to the prefix cache.
    return this.groups.length === 1 ? pagesFor(tokens) : this.#sum(tokens, slots);
  }

  /** Tokens of the longest context that so many pages serve. */
  contextWithin(pages: number): number {
    if (this.pagesOf(Infinity) <= pages) return Infinity;
    let [least, most] = [0, pages];
    while (least < most) {
      const middle = Math.ceil((least + most) / 2);
      if (this.pagesOf(middle * PAGE_TOKENS) <= pages) least = middle;
      else most = middle - 1;
    }
    return least * PAGE_TOKENS;
  }

  #sum(tokens: number, slots: number): number {
    return this.groups.reduce((sum, { window }) => {
      const most = window === null ? Infinity : slots * windowPages(window, this.#rows);
      return sum + Math.min(pagesFor(tokens), most);
    }, 0);
  }
}

/** Bytes of a page's keys (or values) in one layer. */
function layerBytes({ kvHeads, dims, format }: KvState, usual: KvFormat): number {
  return kvHeads * headBytes(format ?? usual, dims);
}

/** All layers in one group, which keeps the tokens of the widest window. */
export function wholeLayout(layers: readonly LayerState[], format: KvFormat, rows = 0): PageLayout {
  const lanes: number[] = [];
  const keysOnly = new Set<number>();
  const places = layers.map((layer): LayerPlace | null => {
    if (layer.kind !== 'kv') return null;
    const lane = lanes.push(layerBytes(layer, format)) - 1;
    if (layer.latent) keysOnly.add(lane);
    return { group: 0, lane, offset: 0 };
  });
  const groups = [{ window: widestWindow(layers), scale: 1 }];
  return new PageLayout({ groups, lanes, keysOnly, places }, rows);
}

/**
 * The layout in which a whole context takes the least memory, with as few groups as that needs. `rows`: most rows of a step;
 * `bindingLimit`: most bytes of a lane's buffer.
 */
export function pageLayout(
  layers: readonly LayerState[],
  format: KvFormat,
  { contextLength, rows }: { contextLength: number; rows: number },
  bindingLimit = Infinity,
): PageLayout {
  const limited = layers.map((layer) =>
    layer.kind === 'kv' && layer.window !== null && layer.window >= contextLength
      ? { ...layer, window: null }
      : layer,
  );
  const whole = wholeLayout(limited, format, rows);
  const kinds = kindsOf(limited, format);
  // Layers with values and such without do not share lanes.
  if (new Set(kinds.map(({ window }) => window)).size < 2 || whole.keysOnly.size > 0) return whole;
  const bytesOf = (layout: PageLayout): number => layout.pagesOf(contextLength) * layout.pageBytes;
  const reachOf = (layout: PageLayout): number =>
    Math.min(contextLength, layout.contextWithin(Math.floor(bindingLimit / Math.max(...layout.lanes))));
  let best = whole;
  const most = Math.max(...kinds.map(({ members }) => members.length));
  for (let lanes = most; lanes > 0; lanes--) {
    const layout = groupedLayout(kinds, layers.length, lanes, rows);
    if (layout.groups.length > MOST_GROUPS) break;
    if (!layout.places.every((place) => (place?.offset ?? 0) % OFFSET_BYTES === 0)) continue;
    // All groups share a lane's buffer, which must not limit the context to less than half of what it can be otherwise.
    if (2 * reachOf(layout) >= reachOf(whole) && bytesOf(layout) < bytesOf(best)) best = layout;
  }
  return best;
}

/** Layers of one window and one size. */
interface LayerKind {
  window: number | null;
  bytes: number;
  /** Indices of the layers. */
  members: number[];
}

/** Kinds of layers; those that see all tokens come first, since prefixes are found by the first group. */
function kindsOf(layers: readonly LayerState[], format: KvFormat): LayerKind[] {
  const kinds: LayerKind[] = [];
  layers.forEach((layer, i) => {
    if (layer.kind !== 'kv') return;
    const { window } = layer;
    const bytes = layerBytes(layer, format);
    const known = kinds.find((kind) => kind.window === window && kind.bytes === bytes);
    if (known) known.members.push(i);
    else kinds.push({ window, bytes, members: [i] });
  });
  return kinds.toSorted((a, b) => Number(a.window !== null) - Number(b.window !== null));
}

function groupedLayout(kinds: readonly LayerKind[], layers: number, lanes: number, rows: number): PageLayout {
  const laneBytes = kinds.map(({ bytes }) => bytes).reduce(leastCommonMultiple);
  const groups: PageGroup[] = [];
  const places = new Array<LayerPlace | null>(layers).fill(null);
  for (const { window, bytes, members } of kinds) {
    const scale = laneBytes / bytes;
    members.forEach((layer, i) => {
      const within = i % (lanes * scale);
      if (within === 0) groups.push({ window, scale });
      const lane = Math.floor(within / scale);
      places[layer] = { group: groups.length - 1, lane, offset: (within % scale) * bytes };
    });
  }
  return new PageLayout({ groups, lanes: new Array<number>(lanes).fill(laneBytes), places }, rows);
}

function leastCommonMultiple(a: number, b: number): number {
  let [rest, divisor] = [a, b];
  while (divisor > 0) [rest, divisor] = [divisor, rest % divisor];
  return (a / rest) * b;
}
