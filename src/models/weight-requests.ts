// The requests that a model page leaves, as plain data: what is read of a checkpoint for each handle, and where it goes.

import type { MatrixPart, TimeAxis } from '../kernels/matrix.ts';
import {
  expertGroups,
  expertParts,
  GROUP,
  interleaved,
  interleavedHalves,
  stacked,
} from '../kernels/matrix.ts';
import type { OrderedInputs } from './input-orders.ts';

/**
 * Order of the tensors' rows: one tensor after another; two tensors alternating every two rows; the two halves of one tensor
 * alternating every two rows; the even and the odd rows of one tensor likewise; rows of a table; values of a vector; rows of one tensor, of which
 * each head has equally many.
 */
export type Layout = 'stacked' | 'interleaved' | 'halves' | 'turns' | 'table' | 'vector' | 'heads';

/**
 * The purpose of a weight. Routers, tables, vectors and matrices of heads are never quantized, because rounding would change discrete choices,
 * what a state forgets, or every row, or save little.
 */
export type Role = 'linear' | 'embedding' | 'router' | 'expert' | 'heads' | 'conv' | 'table' | 'vector';

/** How the weight is split over ranks: not at all, by outputs (rows of each tensor), or by inputs (its columns). */
export type Split = 'none' | 'columns' | 'rows';

/** One of several devices that divide matrices among themselves. */
export interface DevicePart {
  /** Number of the device, from 0. */
  readonly rank: number;
  readonly ranks: number;
}

/** What a device reads of tensors that several divide: an equal part of each range of their rows or columns. */
export interface Division extends DevicePart {
  /** Lengths of the ranges as this device has them; left out: the rows or the columns are one. */
  readonly ranges?: readonly number[] | undefined;
}

export interface WeightRequest extends OrderedInputs {
  /** Tensors of the checkpoint, those of one expert before those of the next. */
  readonly names: readonly string[];
  /** Rows of each of them. */
  readonly rows: readonly number[];
  /** Columns of each tensor; channels of a convolution; 1 for vectors. */
  readonly k: number;
  readonly layout: Layout;
  readonly role: Role;
  /** A bias for each of `names`; null: none. */
  readonly bias: readonly string[] | null;
  readonly split: Split;
  /** Rows, or columns, are those of this device; left out: they are all of the tensors. */
  readonly division?: Division;
  /** Number of equally shaped matrices that `names` form. */
  readonly experts: number;
  /** Added to each value of a vector: Gemma stores norms as w and multiplies by 1 + w. */
  readonly plus: 0 | 1;
  /** Kernel and stride of a convolution; 1 for all other weights. */
  readonly kernel: 1 | 3;
  readonly stride: 1 | 2;
  /** Checkpoints whose configuration says so have the embedding in its place. */
  readonly mayBeTied?: boolean;
  /** The time axis of a stored kernel [out, channels, frames, kernel, kernel]; left out: it has none. */
  readonly time?: TimeAxis;
  /** Extents behind the rows as stored, whose product is k, for matrices that the checkpoint stores as kernels; left out: k. */
  readonly stored?: readonly number[];
  /** Extents of the rows as stored, whose product is their number; left out: one. */
  readonly rowsAs?: readonly number[];
}

/** Values of a matrix's bias: those of its columns; with experts, those of each begin with a group of its own. */
export function biasSize(shape: { columns: number; experts: number }): number {
  return shape.experts === 1 ? shape.columns : shape.experts * GROUP * expertGroups(shape);
}

/** The even and the odd rows of one tensor, interleaved. */
function turns(name: string, rows: number): MatrixPart[] {
  return interleaved(name, name, rows).map((part, i) => ({ ...part, firstRow: i, rowStep: 2 }));
}

/** One tensor's rows, those of each head from a group of its own on. */
function headsPart(name: string, rows: number, heads: number): MatrixPart {
  const unit = rows / heads;
  const unitStride = GROUP * expertGroups({ columns: unit });
  return { name, rows, firstRow: 0, placement: { firstColumn: 0, unit, unitStride } };
}

/** Returns the places of a request's rows among the columns of its matrix, and of their k's among its k's. */
export function partsOf(request: WeightRequest): MatrixPart[] {
  const { names, k, orderOf } = request;
  const parts = columnParts(request);
  return orderOf ? parts.map((part) => ({ ...part, firstK: k * orderOf[names.indexOf(part.name)]! })) : parts;
}

function columnParts({ names, rows, layout, experts }: WeightRequest): MatrixPart[] {
  if (layout === 'heads') return [headsPart(names[0]!, rows[0]!, experts)];
  const each = names.length / experts;
  const parts = Array.from({ length: experts }, (_, expert) => {
    const at = expert * each;
    if (layout === 'interleaved') return interleaved(names[at]!, names[at + 1]!, rows[at]!);
    if (layout === 'halves') return interleavedHalves(names[at]!, rows[at]! / 2);
    if (layout === 'turns') return turns(names[at]!, rows[at]! / 2);
    return stacked(names.slice(at, at + each).map((name, i) => ({ name, rows: rows[at + i]! })));
  });
  return experts === 1 ? parts[0]! : expertParts(parts);
}

export interface Rows {
  name: string;
  rows: number;
}

/** Names and rows of parts, and their biases, named beside them; `bias`: the name of the one of a single part. */
export function listed(
  parts: readonly Rows[],
  bias: boolean | string,
): Pick<WeightRequest, 'names' | 'rows' | 'bias'> {
  const names = parts.map(({ name }) => name);
  return {
    names,
    rows: parts.map(({ rows }) => rows),
    bias:
      typeof bias === 'string' ? [bias] : bias ? names.map((name) => name.replace(/weight$/, 'bias')) : null,
  };
}

/** A tensor that a request reads. */
export interface RequestedTensor {
  name: string;
  shape: readonly number[];
}

/** Lists the tensors that a request reads, weights before biases. */
export function tensorsOf(request: WeightRequest): RequestedTensor[] {
  const { names, rows, layout, bias, rowsAs } = request;
  const behind = layout === 'vector' ? [] : extentsBehind(request);
  return [
    ...names.map((name, i) => ({ name, shape: [...(rowsAs ?? [rows[i]!]), ...behind] })),
    ...(bias ?? []).map((name, i) => ({ name, shape: [rows[i]!] })),
  ];
}

function extentsBehind({ k, kernel, time, stored }: WeightRequest): readonly number[] {
  if (stored) return stored;
  const taps = kernel > 1 ? [kernel, kernel] : [];
  return [k, ...(time ? [time.frames] : []), ...taps];
}

/** Returns true if a quantizer may quantize the weights of a role. Convolutions count like linear layers. */
export function mayQuantise(role: Role): boolean {
  return role === 'linear' || role === 'embedding' || role === 'expert' || role === 'conv';
}
