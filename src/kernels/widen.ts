// Widens numbers of a checkpoint's tensors to f32, into a vector or a table.

import type { Tape } from '../gpu/tape.ts';
import { Tensor, type Region } from '../gpu/tensor.ts';
import { storedBlock, type SourceFormat } from './formats.ts';
import { gridOperand } from './grid-points.ts';
import type { Placement } from './matrix.ts';
import { spread } from './walkers.ts';

/** A vector or a table of f32 without memory. */
export function floatTensor(shape: number[]): Tensor {
  return new Tensor(shape, 'f32');
}

/**
 * Widens every `step`-th value after the first `skip`, adds `plus` to each, and writes them to `y`: values of a vector are placed like rows of a
 * part, or y is a table.
 */
export function widen(
  tape: Tape,
  y: Tensor,
  placement: Placement,
  chunk: { raw: Region; source: SourceFormat; size: number; skip?: number; step?: number; plus?: number },
): void {
  tape.dispatch('widen.wgsl', {
    params: { SOURCE: chunk.source },
    args: {
      skip: chunk.skip ?? 0,
      step: chunk.step ?? 1,
      size: chunk.size,
      unit: placement.unit,
      unit_stride: placement.unitStride,
      first: placement.firstColumn,
      plus: chunk.plus ?? 0,
    },
    bind: { raw: chunk.raw, y, ...gridOperand(tape.device, storedBlock(chunk.source) ?? {}) },
    groups: () => spread(tape, chunk.size),
  });
}
