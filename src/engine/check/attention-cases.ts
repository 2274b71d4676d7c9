// Checks of attention: pages of keys and values with the rows of a prompt and of a decode step, rotations, and dense attention of images.

import { attend } from '../../kernels/attend.ts';
import { attention } from '../../kernels/attention.ts';
import {
  PAGE_TOKENS,
  partialBatch,
  TILE_ROWS,
  type KvFormat,
  type KvPages,
  type TextBatch,
} from '../../kernels/batch.ts';
import { headBytes } from '../../kernels/kv-format.ts';
import { ropeKv } from '../../kernels/rope-kv.ts';
import type { KernelCase } from './kernel-case.ts';
import type { KernelInputs } from './kernel-inputs.ts';

const SHAPE = { heads: 4, kvHeads: 2, dims: 64 };
const COLUMNS = (SHAPE.heads + 2 * SHAPE.kvHeads) * SHAPE.dims;
const ROWS = 40;
/** Rows of the decode step, and the page of the first: each continues a context of one page. */
const DECODE_ROWS = 3;

interface Paged {
  batch: TextBatch;
  kv: KvPages;
}

/** `tiles`: first row, rows, first page table entry, position, 0. `places`: where rows are written. */
function paged(
  inputs: KernelInputs,
  pages: number,
  tiles: readonly number[],
  places: readonly number[],
  format: KvFormat,
): Paged {
  const held = pages * SHAPE.kvHeads * headBytes(format, SHAPE.dims);
  const table = {
    pages: inputs.region(Uint32Array.from({ length: pages }, (_, i) => pages - 1 - i)),
    places: inputs.region(Uint32Array.from(places)),
  };
  // Ones as f16, and small factors of codes, so that rows which are not written are numbers, too.
  const ones = (): Uint32Array<ArrayBuffer> => new Uint32Array(held / 4).fill(0x3c003c00);
  return {
    kv: { kind: 'kv', format, table, keys: inputs.region(ones()), values: inputs.region(ones()) },
    batch: partialBatch(inputs.region(new Uint32Array(4)), { tiles: inputs.region(Uint32Array.from(tiles)) }),
  };
}

/** Cosine and sine of each pair of dimensions. */
function angles(rows: number): Float32Array {
  const { dims } = SHAPE;
  return Float32Array.from({ length: rows * dims }, (_, i) => {
    const angle = Math.floor(i / dims) * 0.1 + ((i % dims) >> 1) * 0.03;
    return i % 2 === 0 ? Math.cos(angle) : Math.sin(angle);
  });
}

/** The queries of `ropeKv`: rotated, and multiplied by the scale of the scores. */
function rotated(qkv: Float32Array, rope: Float32Array, rows: number): number[] {
  const { heads, dims } = SHAPE;
  const scale = 1 / Math.sqrt(dims);
  return Array.from({ length: rows * heads * dims }, (_, i) => {
    const row = Math.floor(i / (heads * dims));
    const d = i % dims;
    const pair = d % (dims / 2);
    const at = row * COLUMNS + (i % (heads * dims)) - d;
    const [cosine, sine] = [rope[row * dims + 2 * pair]!, rope[row * dims + 2 * pair + 1]!];
    const [first, second] = [qkv[at + pair]!, qkv[at + pair + dims / 2]!];
    return scale * (d === pair ? first * cosine - second * sine : second * cosine + first * sine);
  });
}

/** Places of a table whose pages lie in reverse order. */
const placeOf = (pages: number, position: number): number =>
  (pages - 1 - Math.floor(position / PAGE_TOKENS)) * PAGE_TOKENS + (position % PAGE_TOKENS);

const PAGES = Math.ceil(ROWS / PAGE_TOKENS);
const PROMPT_TILES = Array.from({ length: Math.ceil(ROWS / TILE_ROWS) }, (_, i) => [
  i * TILE_ROWS,
  Math.min(TILE_ROWS, ROWS - i * TILE_ROWS),
  0,
  i * TILE_ROWS,
  0,
]);
const PROMPT = {
  pages: PAGES,
  sizes: { rows: ROWS, tiles: PROMPT_TILES.length, tileRows: TILE_ROWS, contextPages: PAGES },
  tiles: PROMPT_TILES.flat(),
  places: Array.from({ length: ROWS }, (_, i) => placeOf(PAGES, i)),
};

/** Each row is the last of a page of its own. */
const DECODE = {
  pages: DECODE_ROWS,
  sizes: { rows: DECODE_ROWS, tiles: DECODE_ROWS, tileRows: 1, contextPages: 1 },
  tiles: Array.from({ length: DECODE_ROWS }, (_, i) => [i, 1, i, PAGE_TOKENS - 1 - i, 0]).flat(),
  places: Array.from(
    { length: DECODE_ROWS },
    (_, i) => (DECODE_ROWS - 1 - i) * PAGE_TOKENS + PAGE_TOKENS - 1 - i,
  ),
};

function written(
  inputs: KernelInputs,
  { pages, tiles, places, sizes }: typeof PROMPT,
  format: KvFormat = 'f16',
) {
  const { rows } = sizes;
  const numbers = inputs.numbers(rows * COLUMNS);
  const table = angles(rows);
  return {
    ...paged(inputs, pages, tiles, places, format),
    numbers,
    table,
    qkv: inputs.tensor(['rows', COLUMNS], numbers, rows),
    rope: inputs.tensor(['rows', SHAPE.dims], table, rows),
  };
}

function pagedAttention(
  name: string,
  step: typeof PROMPT,
  decodes: readonly string[],
  format?: KvFormat,
): KernelCase {
  return {
    name,
    sizes: step.sizes,
    decodes,
    prepare(inputs) {
      const { qkv, rope, kv, batch } = written(inputs, step, format);
      return {
        record: (tape) =>
          attention(ropeKv(qkv(tape), rope(tape), SHAPE, kv, null), batch, SHAPE, kv, { window: null }),
      };
    },
  };
}

interface DenseShape {
  items: number;
  queries: number;
  keys: number;
  heads: number;
  dims: number;
}

function denseAttention(name: string, { items, queries, keys, heads, dims }: DenseShape): KernelCase {
  return {
    name,
    sizes: {},
    prepare(inputs) {
      const given = [queries, keys, keys].map((rows) =>
        inputs.tensor([items, rows, heads * dims], inputs.numbers(items * rows * heads * dims)),
      );
      return {
        record: (tape) => {
          const [q, k, v] = given.map((tensor) => ({ x: tensor(tape), first: 0 }));
          return attend(q!, k!, v!, { heads, dims });
        },
      };
    },
  };
}

export const ATTENTION_CASES: readonly KernelCase[] = [
  {
    name: 'rotation of queries',
    sizes: PROMPT.sizes,
    prepare(inputs) {
      const { qkv, rope, kv, numbers, table } = written(inputs, PROMPT);
      return {
        record: (tape) => ropeKv(qkv(tape), rope(tape), SHAPE, kv, null),
        expected: rotated(numbers, table, ROWS),
      };
    },
  },
  pagedAttention('paged attention, rows of a prompt', PROMPT, []),
  pagedAttention('paged attention, rows of a decode step', DECODE, ['rows']),
  pagedAttention('paged attention in codes of 8 bits, rows of a prompt', PROMPT, [], 'int8'),
  pagedAttention('paged attention in codes of 8 bits, rows of a decode step', DECODE, ['rows'], 'int8'),
  pagedAttention('paged attention in codes of 4 bits, rows of a decode step', DECODE, ['rows'], 'int4'),
  // More than 64 queries and keys may be computed on matrix units.
  denseAttention('attention of images', { items: 1, queries: 72, keys: 80, heads: 2, dims: 32 }),
  denseAttention('attention of images, few queries', { items: 2, queries: 40, keys: 50, heads: 2, dims: 32 }),
];
