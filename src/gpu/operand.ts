// Operands of a dispatch: a tensor, some of its rows, or a region of bytes. A slice is for kernels that process a tensor above the
// binding limit strip by strip. It has no padding rows after its last one, so that a kernel that writes whole tiles cannot write to
// it.

import { Tensor, type Region, type Sizes } from './tensor.ts';

export interface Slice {
  tensor: Tensor;
  firstRow: number;
  rows: number;
}

export type Operand = Tensor | Slice | Region;

/** Alignment in bytes that every adapter accepts for a binding's offset. */
export const OFFSET_ALIGNMENT = 256;

export function isSlice(operand: Operand): operand is Slice {
  return 'tensor' in operand;
}

/** The memory of operands that have some of their own. */
export function regionsOf(bind: Readonly<Record<string, Operand>>): Region[] {
  return Object.values(bind).flatMap((operand) => {
    const tensor = tensorOf(operand);
    return (tensor ? tensor.region : (operand as Region)) ?? [];
  });
}

/** Returns the tensor that an operand is or belongs to; null for a region. */
export function tensorOf(operand: Operand): Tensor | null {
  if (operand instanceof Tensor) return operand;
  return isSlice(operand) ? operand.tensor : null;
}

/** Returns the offset in bytes of a slice in its tensor. */
export function sliceOffset({ tensor, firstRow }: Slice): number {
  const offset = firstRow * tensor.stride * 4;
  if (offset % OFFSET_ALIGNMENT !== 0)
    throw new Error(`a slice cannot begin at row ${firstRow}: rows are ${tensor.stride * 4} bytes apart`);
  return offset;
}

export function sliceBytes({ tensor, rows }: Slice): number {
  return rows * tensor.stride * 4;
}

/** Returns the bytes that the operand's binding covers. */
export function spanOf(operand: Operand, sizes: Sizes): number {
  if (operand instanceof Tensor) return operand.region?.size ?? operand.heldBytes(sizes);
  if (!isSlice(operand)) return operand.size;
  const { tensor, firstRow, rows } = operand;
  if (sliceOffset(operand) + sliceBytes(operand) > spanOf(tensor, sizes))
    throw new Error(
      `a slice ends at row ${firstRow + rows}, its tensor of [${tensor.shape.join(', ')}] before`,
    );
  return sliceBytes(operand);
}
