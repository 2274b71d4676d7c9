// Sizes of keys and values in KV pages; layouts in shaders/kv and shaders/lib/page-codes.wgsl.

import { PAGE_TOKENS, type KvFormat } from './batch.ts';

/** Bits of a dimension. */
const BITS: Record<KvFormat, number> = { f32: 32, f16: 16, fp8_e4m3: 8, int8: 8, int4: 4 };
/** Bytes of a token's factor, and the dimensions, begun or whole, that have as many. */
const FACTOR_BYTES = 2;
const FACTOR_DIMS = 64;

/** Whether pages hold codes, which stand for numbers by a factor for each token and head. */
export function isCoded(format: KvFormat): boolean {
  return BITS[format] <= 8;
}

/** Bytes of a page's keys (or values) of one head. `dims`: dimensions of a head in pages, a multiple of 4. */
export function headBytes(format: KvFormat, dims: number): number {
  const row = 4 * Math.ceil((dims * BITS[format]) / 32);
  const factors = isCoded(format) ? FACTOR_BYTES * Math.ceil(dims / FACTOR_DIMS) : 0;
  return PAGE_TOKENS * (row + factors);
}
