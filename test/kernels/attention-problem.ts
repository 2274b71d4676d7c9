// Problems of paged attention: sequences whose keys and values lie in shuffled pages, a step over some of their rows, and a softmax in
// f64 that judges it.

import { expect } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { attention } from '../../src/kernels/attention.ts';
import {
  PAGE_TOKENS,
  TILE_ROWS,
  TILE_WORDS,
  type HeadShape,
  type KvFormat,
  type KvPages,
} from '../../src/kernels/batch.ts';
import { paddedHead } from '../../src/kernels/resize-heads.ts';
import { factorOf, isCodedFormat, numberOf, type CodedFormat } from './coded-pages.ts';
import { batchOf, compute, Random, toF16, upload } from './compute.ts';
import { SPARE_PAGES, storeKeys, storeValues } from './stored-pages.ts';

/** First position and rows of each sequence's part of the step: a prompt, a late token, a chunk across pages, a first token. */
export const SEQUENCES = [
  { from: 0, rows: 21 },
  { from: 70, rows: 1 },
  { from: 30, rows: 7 },
  { from: 0, rows: 1 },
];
/** Sequences whose contexts have several chunks of eight pages. */
export const LONG_SEQUENCES = [
  { from: 700, rows: 1 },
  { from: 250, rows: 12 },
  { from: 511, rows: 1 },
  { from: 590, rows: 21 },
];
export const CAPACITY = { rows: 48, tiles: 8, tileRows: TILE_ROWS };

export interface Span {
  sequence: number;
  first: number;
  end: number;
  /** The last token that the span's tokens see; -1: they see none; left out: the span's last. */
  last?: number;
}

export interface Problem {
  shape: HeadShape;
  window: number | null;
  chunked?: boolean;
  bothSides: boolean;
  kv: KvPages;
  /** [row][head · dims] */
  q: Float32Array;
  /** [sequence][token][kv head · dims]; of a shape with valueDims the first of these dimensions of a key are its value */
  keys: Float32Array[][];
  values: Float32Array[][];
  /** Page table of each sequence. */
  tables: number[][];
  /** Tokens of a sequence that see each other. */
  spans: Span[];
  cap: number | null;
  /** [heads] */
  sinks: Float32Array | null;
  /** Whether a row sees a token among those up to itself; left out: it does. */
  sees?: (row: number, token: number) => boolean;
  /** [2 · farthest + 1][heads]: biases of the distances from −farthest on; left out: none. */
  biases?: Float32Array;
  /** Exponent of the least slope by distance, to both sides; left out: there are none. */
  slopes?: number;
  rows: { sequence: number; position: number }[];
}

export function problem(
  on: Device,
  shape: HeadShape,
  format: KvFormat,
  window: number | null,
  sequences = SEQUENCES,
  spans: Span[] = [],
): Problem {
  const random = new Random(shape.heads * 1000 + shape.dims);
  const width = shape.kvHeads * shape.dims;
  const held = (token: number) =>
    random.floats(width).map((value, i) => {
      if (format === 'f16') return toF16(value);
      return isCodedFormat(format) ? codedValue(format, value, token, Math.floor(i / shape.dims)) : value;
    });
  const tokens = sequences.map(({ from, rows }) => from + rows);
  const keys = tokens.map((count) => Array.from({ length: count }, (_, token) => held(token)));
  const isLatent = shape.valueDims !== undefined;
  const values = isLatent
    ? keys
    : tokens.map((count) => Array.from({ length: count }, (_, token) => held(token)));
  const pages = tokens.map((count) => Math.ceil(count / PAGE_TOKENS));
  const free = random.permutation(pages.reduce((sum, count) => sum + count, SPARE_PAGES));
  const tables = pages.map((count) => free.splice(0, count));
  const rows = sequences.flatMap(({ from, rows: count }, sequence) =>
    Array.from({ length: count }, (_, i) => ({ sequence, position: from + i })),
  );
  // Scores of a few units, so that many tokens have weight and some have more.
  const q = random
    .floats(rows.length * shape.heads * shape.dims)
    .map((value) => (4 * value) / Math.sqrt(shape.dims));
  const table = {
    pages: upload(on, Uint32Array.from(tables.flat())),
    places: upload(on, new Uint32Array(4)),
  };
  const stored = { ...shape, dims: paddedHead(shape.dims) };
  const padded = (of: Float32Array[]) => of.map((row) => paddedHeads(row, shape.dims));
  const kv: KvPages = {
    kind: 'kv',
    table,
    format,
    keys: storeKeys(on, format, stored, keys.map(padded), tables),
    values: isLatent ? null : storeValues(on, format, stored, values.map(padded), tables),
  };
  return {
    ...{ shape, window, bothSides: false, kv, q, keys, values, tables },
    ...{ rows, spans, cap: null, sinks: null },
  };
}

/** A number that pages of codes can hold for a head of a token, chosen by a value within ±1. */
function codedValue(format: CodedFormat, value: number, token: number, head: number): number {
  const codes = format === 'int4' ? 16 : 256;
  const code = Math.floor(((value + 1) / 2) * codes);
  const isNan = format === 'fp8_e4m3' && (code & 0x7f) === 0x7f;
  return numberOf(format, isNan ? code - 1 : code) * factorOf(format, token, head);
}

/** Heads as attention reads them: a multiple of 4 dimensions, zeros behind. */
function paddedHeads(row: Float32Array, dims: number): Float32Array {
  const stored = paddedHead(dims);
  const heads = row.length / dims;
  const padded = new Float32Array(heads * stored);
  for (let head = 0; head < heads; head++)
    padded.set(row.subarray(head * dims, (head + 1) * dims), head * stored);
  return padded;
}

/** Returns the last token that a token in a span sees; null: no span contains it. */
function lastSeen({ spans }: Problem, sequence: number, token: number): number | null {
  const span = spans.find((one) => one.sequence === sequence && one.first <= token && token < one.end);
  return span ? (span.last ?? span.end - 1) : null;
}

/** Attends the given rows of a problem in one step. `decodes`: they are decode rows, each with a tile of its own. */
export function run(
  on: Device,
  of: Problem,
  capacity: { rows: number; tiles: number; tileRows: number; contextPages?: number },
  chosen: number[] = of.rows.map((_, i) => i),
  decodes = false,
): Promise<Float32Array[]> {
  const tiles: number[][] = [];
  chosen.forEach((row, i) => {
    const { sequence, position } = of.rows[row]!;
    const table = of.tables.slice(0, sequence).flat().length;
    const tile = tiles.at(-1);
    const before = i > 0 && !decodes ? of.rows[chosen[i - 1]!]! : null;
    const last = lastSeen(of, sequence, position);
    const continues = before?.sequence === sequence && lastSeen(of, sequence, before.position) === last;
    if (tile && continues && tile[1]! < TILE_ROWS) tile[1]! += 1;
    else tiles.push([i, 1, table, position, last ?? 0]);
  });
  const { heads, dims } = of.shape;
  const width = heads * dims;
  const batch = batchOf(on, {
    tiles: upload(on, Uint32Array.from(tiles.flat())),
    spans: of.spans.length > 0,
  });
  expect(tiles.flat().length).toBe(tiles.length * TILE_WORDS);
  const q = new Float32Array(chosen.length * width);
  chosen.forEach((row, i) => q.set(of.q.subarray(row * width, (row + 1) * width), i * width));
  return compute({
    device: on,
    decodes: decodes ? ['rows'] : [],
    capacity,
    sizes: {
      rows: chosen.length,
      tiles: tiles.length,
      tileRows: Math.max(...tiles.map((tile) => tile[1]!)),
      ...(capacity.contextPages !== undefined && {
        contextPages: Math.ceil(Math.max(...chosen.map((row) => seenBy(of, row))) / PAGE_TOKENS),
      }),
    },
    record: (_, input) => {
      const sinks = of.sinks && input([heads], of.sinks);
      const padded = paddedHeads(q, dims);
      const biases = of.biases ? input([1, of.biases.length / heads, heads], of.biases) : null;
      return attention(input(['rows', heads * paddedHead(dims)], padded), batch, of.shape, of.kv, {
        ...of,
        sinks,
        ...(of.sees && {
          chosen: input(['rows', capacity.contextPages!], bitsOf(of, chosen, capacity.contextPages!)),
        }),
        biases,
      });
    },
  });
}

/** A bit for each token that a row may see, [rows, pages]. */
function bitsOf({ sees }: Problem, rows: number[], pages: number): Float32Array {
  const words = Uint32Array.from(
    rows.flatMap((row) =>
      Array.from({ length: pages }, (_, page) =>
        Array.from({ length: PAGE_TOKENS }, (_, i) =>
          sees!(row, page * PAGE_TOKENS + i) ? 2 ** i : 0,
        ).reduce((a, b) => a + b),
      ),
    ),
  );
  return new Float32Array(words.buffer);
}

/** Tokens of its sequence up to the last one that a row sees. */
function seenBy(of: Problem, row: number): number {
  const { sequence, position } = of.rows[row]!;
  return 1 + Math.max(position, lastSeen(of, sequence, position) ?? 0);
}

function biasOf({ biases, slopes, shape: { heads } }: Problem, head: number, distance: number): number {
  if (slopes !== undefined) return -slopeOf(slopes, heads, head) * Math.abs(distance);
  if (!biases) return 0;
  const farthest = (biases.length / heads - 1) / 2;
  return biases[(farthest + Math.max(-farthest, Math.min(farthest, distance))) * heads + head]!;
}

/** ALiBi's slopes: of heads up to a power of two, and every second one of twice as many for the others. */
function slopeOf(most: number, heads: number, head: number): number {
  const first = 2 ** Math.floor(Math.log2(heads));
  return head < first
    ? 2 ** ((-most * (head + 1)) / first)
    : 2 ** ((-most * (2 * (head - first) + 1)) / (2 * first));
}

export function reference(of: Problem, row: number): Float64Array {
  const { heads, kvHeads, dims, valueDims = dims } = of.shape;
  const { sequence, position } = of.rows[row]!;
  const from =
    of.window !== null && of.chunked ? position - (position % of.window) : position - of.window! + 1;
  const first = of.window === null ? 0 : Math.max(0, from);
  const end = lastSeen(of, sequence, position) ?? position;
  const last = of.bothSides ? Math.min(end, position + of.window! - 1) : end;
  const y = new Float64Array(heads * valueDims);
  const weights = new Float64Array(Math.max(0, last - first + 1));
  for (let head = 0; head < heads && weights.length > 0; head++) {
    const at = Math.floor(head / (heads / kvHeads)) * dims;
    let total = of.sinks ? Math.exp(of.sinks[head]!) : 0;
    for (let token = first; token <= last; token++) {
      const weight = of.sees?.(row, token) === false ? 0 : Math.exp(scoreOf(of, row, head, token));
      weights[token - first] = weight;
      total += weight;
    }
    for (let token = first; token <= last; token++) {
      const [weight, values] = [weights[token - first]! / total, of.values[sequence]![token]!];
      for (let d = 0; d < valueDims; d++) y[head * valueDims + d]! += weight * values[at + d]!;
    }
  }
  return y;
}

/** The score of a token, capped, for a head of a row. */
function scoreOf(of: Problem, row: number, head: number, token: number): number {
  const { heads, kvHeads, dims } = of.shape;
  const { sequence, position } = of.rows[row]!;
  const key = of.keys[sequence]![token]!;
  const at = Math.floor(head / (heads / kvHeads)) * dims;
  const from = (row * heads + head) * dims;
  let score = 0;
  for (let d = 0; d < dims; d++) score += of.q[from + d]! * key[at + d]!;
  score += biasOf(of, head, token - position);
  return of.cap === null ? score : of.cap * Math.tanh(score / of.cap);
}
