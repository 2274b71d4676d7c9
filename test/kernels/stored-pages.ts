// Keys and values of several sequences in pages, as rope-kv.wgsl would have left them; layouts in shaders/kv.

import type { Device } from '../../src/gpu/device.ts';
import type { Region } from '../../src/gpu/tensor.ts';
import { PAGE_TOKENS, type HeadShape, type KvFormat } from '../../src/kernels/batch.ts';
import { headBytes } from '../../src/kernels/kv-format.ts';
import { CodedHead, factorOf, isCodedFormat } from './coded-pages.ts';
import { f16Bits, upload } from './compute.ts';

/** Pages of a pool that no table has. */
export const SPARE_PAGES = 5;

const poolPages = (tables: number[][]): number => Math.max(...tables.flat()) + 1 + SPARE_PAGES;

/** Large finite values, as f32 and as a pair of f16, for places without a token. */
const GARBAGE = 0x70007000;

function storeCodes(
  on: Device,
  kind: 'keys' | 'values',
  format: KvFormat,
  { kvHeads, dims }: HeadShape,
  sequences: Float32Array[][],
  tables: number[][],
): Region | null {
  if (!isCodedFormat(format)) return null;
  const words = new Uint32Array((poolPages(tables) * kvHeads * headBytes(format, dims)) / 4);
  words.fill(GARBAGE);
  sequences.forEach((tokens, sequence) =>
    tokens.forEach((row, position) => {
      const page = tables[sequence]![Math.floor(position / PAGE_TOKENS)]!;
      for (let i = 0; i < kvHeads; i++) {
        const head = new CodedHead(words, format, kind, { dims, head: page * kvHeads + i });
        const own = row.subarray(i * dims, (i + 1) * dims);
        head.set(position % PAGE_TOKENS, own, factorOf(format, position, i));
      }
    }),
  );
  return upload(on, words);
}

/** Pages as shaders/kv lays them out: `place` finds the element within its page and head. */
function store(
  on: Device,
  format: KvFormat,
  { kvHeads, dims }: HeadShape,
  sequences: Float32Array[][],
  tables: number[][],
  place: (token: number, d: number) => { word: number; half: number },
): Region {
  const perHead = (PAGE_TOKENS * dims) / (format === 'f16' ? 2 : 1);
  const words = new Uint32Array(poolPages(tables) * kvHeads * perHead).fill(GARBAGE);
  const halves = new Uint16Array(words.buffer);
  const floats = new Float32Array(words.buffer);
  sequences.forEach((tokens, sequence) =>
    tokens.forEach((row, position) => {
      const page = tables[sequence]![Math.floor(position / PAGE_TOKENS)]!;
      for (let i = 0; i < row.length; i++) {
        const { word, half } = place(position % PAGE_TOKENS, i % dims);
        const at = (page * kvHeads + Math.floor(i / dims)) * perHead + word;
        if (format === 'f16') halves[2 * at + half] = f16Bits(row[i]!);
        else floats[at] = row[i]!;
      }
    }),
  );
  return upload(on, words);
}

export function storeKeys(
  on: Device,
  format: KvFormat,
  shape: HeadShape,
  keys: Float32Array[][],
  tables: number[][],
): Region {
  const coded = storeCodes(on, 'keys', format, shape, keys, tables);
  if (coded) return coded;
  return store(on, format, shape, keys, tables, (token, d) =>
    format === 'f16'
      ? { word: (d >> 1) * PAGE_TOKENS + token, half: d & 1 }
      : { word: d * PAGE_TOKENS + token, half: 0 },
  );
}

export function storeValues(
  on: Device,
  format: KvFormat,
  shape: HeadShape,
  values: Float32Array[][],
  tables: number[][],
): Region {
  const coded = storeCodes(on, 'values', format, shape, values, tables);
  if (coded) return coded;
  return store(on, format, shape, values, tables, (token, d) => {
    if (format === 'f32') return { word: token * shape.dims + d, half: 0 };
    const quad = (token >> 1) * (shape.dims / 4) + (d >> 2);
    return { word: 4 * quad + 2 * (token & 1) + ((d & 3) >> 1), half: d & 1 };
  });
}
