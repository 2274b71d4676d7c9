// Counts invalid values of a checkpoint's tensor before a kernel packs or widens them.

import type { Device } from '../gpu/device.ts';
import { Tape } from '../gpu/tape.ts';
import type { Region } from '../gpu/tensor.ts';
import type { SourceFormat } from './formats.ts';

/** Counts of one tensor's values. */
export interface ValueCounts {
  /** Number of NaN or infinite values. */
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

const INFINITY_BITS: Record<SourceFormat, number> = { f32: 0x7f800000, f16: 0x7c00, bf16: 0x7f80 };
const OVERSIZE_BITS: Record<SourceFormat, number> = { f32: 0x5f800000, f16: 0x7c00, bf16: 0x5f80 };

const WORKGROUP = 64;
/** Minimum number of quads of words per invocation, so that a chunk has few workgroups, each of adjacent words. */
const QUADS_EACH = 32;

/** Adds the counts of the first `bytes` of `raw`, a multiple of CHECKED_BYTES, to the counters of `tensor`. */
export function checkValues(
  device: Device,
  { raw, source, bytes }: { raw: Region; source: SourceFormat; bytes: number },
  { counts, tensor }: { counts: Region; tensor: number },
): void {
  if (bytes % CHECKED_BYTES !== 0)
    throw new Error(`checkValues: ${bytes} bytes are not a multiple of ${CHECKED_BYTES}`);
  const quads = bytes / CHECKED_BYTES;
  const fewest = Math.ceil(quads / device.capabilities.maxWorkgroups / WORKGROUP);
  const each = WORKGROUP * Math.max(QUADS_EACH, fewest);
  const tape = new Tape(device, {});
  tape.dispatch('check-values.wgsl', {
    params: { PAIRS: source !== 'f32' },
    args: { quads, infinity: INFINITY_BITS[source], oversize: OVERSIZE_BITS[source], each, tensor },
    bind: { raw, counts },
    groups: () => [Math.ceil(quads / each)],
  });
  tape.finish();
  tape.run({});
  tape.destroy();
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
