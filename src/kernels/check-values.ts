// Counts invalid values of a checkpoint's tensor before a kernel packs or widens them.

import type { Device } from '../gpu/device.ts';
import type { Tape } from '../gpu/tape.ts';
import type { Region } from '../gpu/tensor.ts';
import { storedBlock, type NumberSource, type ScaleSource, type SourceFormat } from './formats.ts';

/** Counts of one tensor's values. */
export interface ValueCounts {
  /** Number of NaN or infinite values; of codes, of blocks with such a scale. */
  nonFinite: number;
  /** Number of finite values with a magnitude of at least 2⁶⁴, whose square overflows f32; f16 has none. */
  oversize: number;
  /** Whether every value is zero. */
  isZero: boolean;
}

/** Values are checked in groups of this many bytes: padding after the last value must be zero. */
export const CHECKED_BYTES = 16;
/** Bytes of one tensor's counters, which must be zero before its first chunk. */
export const COUNTER_BYTES = 12;

const INFINITY_BITS: Record<NumberSource, number> = { f32: 0x7f800000, f16: 0x7c00, bf16: 0x7f80 };
const OVERSIZE_BITS: Record<NumberSource, number> = { f32: 0x5f800000, f16: 0x7c00, bf16: 0x5f80 };

/** Bits of the smallest magnitude that no scale has, and bits of a magnitude. */
const HALF = { limit: 0x7c00, width: 15 };
const NO_SCALE = { f16: HALF, parts: HALF, e8m0: { limit: 0xff, width: 8 } };
/** Above all magnitudes: words of codes are only compared with zero. */
const NO_LIMIT = 0xffffffff;

const WORKGROUP = 64;
/** Minimum number of quads of words per invocation, so that a chunk has few workgroups, each of adjacent words. */
const QUADS_EACH = 32;
const BLOCKS_EACH = 4;

/**
 * Adds the counts of the first `bytes` of `raw`, a multiple of CHECKED_BYTES, to the counters of `tensor`; of codes, those of so many `values`.
 * `source` null: integers, all of which are valid.
 */
export function checkValues(
  tape: Tape,
  {
    raw,
    source,
    bytes,
    values = 0,
  }: { raw: Region; source: SourceFormat | ScaleSource | null; bytes: number; values?: number },
  { counts, tensor }: { counts: Region; tensor: number },
): void {
  if (bytes % CHECKED_BYTES !== 0)
    throw new Error(`checkValues: ${bytes} bytes are not a multiple of ${CHECKED_BYTES}`);
  const quads = bytes / CHECKED_BYTES;
  const fewest = Math.ceil(quads / tape.device.capabilities.maxWorkgroups / WORKGROUP);
  const each = WORKGROUP * Math.max(QUADS_EACH, fewest);
  const stored = source && storedBlock(source);
  const { infinity, oversize } = limitsOf(source);
  const into = { raw, counts, tensor };
  tape.dispatch('check-values.wgsl', {
    params: { PAIRS: stored === null && source !== null && source !== 'f32' },
    args: { quads, infinity, oversize, each, tensor },
    bind: { raw, counts },
    groups: () => [Math.ceil(quads / each)],
  });
  if (stored?.nan !== undefined)
    checkBlocks(tape, { bytes: 1, scalesAt: [0], limit: stored.nan, width: 7 }, { ...into, blocks: values });
  else if (stored && stored.scaleType !== 'tensor' && stored.scaleType !== 'e4m3') {
    const invalid = { ...NO_SCALE[stored.scaleType], isInParts: stored.scaleType === 'parts' };
    checkBlocks(tape, { ...stored, ...invalid }, { ...into, blocks: values / stored.values });
  }
}

function limitsOf(source: SourceFormat | ScaleSource | null): { infinity: number; oversize: number } {
  if (source === null || storedBlock(source)) return { infinity: NO_LIMIT, oversize: NO_LIMIT };
  const number = source as NumberSource;
  return { infinity: INFINITY_BITS[number], oversize: OVERSIZE_BITS[number] };
}

interface CheckedBlocks {
  bytes: number;
  scalesAt: readonly [number] | readonly [number, number];
  limit: number;
  width: number;
  isInParts?: boolean;
}

function checkBlocks(
  tape: Tape,
  { bytes, scalesAt, limit, width, isInParts = false }: CheckedBlocks,
  { raw, counts, tensor, blocks }: { raw: Region; counts: Region; tensor: number; blocks: number },
): void {
  const fewest = Math.ceil(blocks / tape.device.capabilities.maxWorkgroups / WORKGROUP);
  const each = WORKGROUP * Math.max(BLOCKS_EACH, fewest);
  const [first, second = first] = scalesAt;
  tape.dispatch('check-blocks.wgsl', {
    params: { IN_PARTS: isInParts },
    args: { blocks, bytes, first, second, limit, width, each, tensor },
    bind: { raw, counts },
    groups: () => [Math.ceil(blocks / each)],
  });
}

/** Reads the counts of the given number of tensors when all submitted work has run. */
export async function readCounts(device: Device, counts: Region, tensors: number): Promise<ValueCounts[]> {
  const words = new Uint32Array(await device.read(counts));
  return Array.from({ length: tensors }, (_, tensor) => ({
    nonFinite: words[3 * tensor]!,
    oversize: words[3 * tensor + 1]!,
    isZero: words[3 * tensor + 2] === 0,
  }));
}
