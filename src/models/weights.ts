// Names and shapes of the weights that a model page reads, by the checkpoint's own names. A page is run once on a WeightTable: it
// receives handles (matrices and tensors without memory) that its functions close over, and leaves a list of requests as plain
// data. engine/weights reads that list for everything else.

import type { Tensor } from '../gpu/tensor.ts';
import { inputOrders, type OrderedInputs, type StoredNames } from './input-orders.ts';
import {
  expertGroups,
  expertParts,
  GROUP,
  interleaved,
  interleavedHalves,
  Matrix,
  stacked,
} from '../kernels/matrix.ts';
import type { MatrixPart } from '../kernels/matrix.ts';
import { floatTensor } from '../kernels/widen.ts';

export interface Rows {
  name: string;
  rows: number;
}

/**
 * Order of the tensors' rows: one tensor after another; two tensors alternating every two rows; the two halves of one tensor
 * alternating every two rows; the even and the odd rows of one tensor likewise; rows of a table; values of a vector.
 */
export type Layout = 'stacked' | 'interleaved' | 'halves' | 'turns' | 'table' | 'vector';

/**
 * The purpose of a weight. Routers, tables and vectors are never quantized, because rounding would change discrete choices, what a
 * state forgets, or every row.
 */
export type Role = 'linear' | 'embedding' | 'router' | 'expert' | 'conv' | 'table' | 'vector';

/** How the weight is split over ranks: not at all, by outputs (rows of each tensor), or by inputs (its columns). */
export type Split = 'none' | 'columns' | 'rows';

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
  /** Number of equally shaped matrices that `names` form. */
  readonly experts: number;
  /** Added to each value of a vector: Gemma stores norms as w and multiplies by 1 + w. */
  readonly plus: 0 | 1;
  /** Kernel and stride of a convolution; 1 for all other weights. */
  readonly kernel: 1 | 3;
  readonly stride: 1 | 2;
}

export type WeightHandle = Matrix | Tensor;

export interface MatrixOptions {
  /** Whether x.weight is accompanied by x.bias. */
  bias?: boolean;
  split?: Split;
}

export interface ConvOptions {
  bias?: boolean;
  stride?: 1 | 2;
}

const PLAIN = {
  layout: 'stacked',
  bias: null,
  split: 'none',
  experts: 1,
  plus: 0,
  kernel: 1,
  stride: 1,
} as const;

export class WeightTable {
  readonly requests: WeightRequest[] = [];
  /** Handles, one for each request. */
  readonly handles: WeightHandle[] = [];
  /** Names that a checkpoint may hold although the page does not read them. */
  readonly ignored: RegExp[] = [];
  readonly #names: StoredNames;

  /** `names`: names of the checkpoint's tensors. */
  constructor(names: StoredNames) {
    this.#names = names;
  }

  /** Returns true if the checkpoint has a tensor of this name; for weights that some checkpoints lack or name differently. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Declares a vector [size] as f32; `plus` is added to each value. */
  vector(name: string, size: number, { plus = 0 }: { plus?: 0 | 1 } = {}): Tensor {
    const request = {
      ...PLAIN,
      plus,
      names: [name],
      rows: [size],
      k: 1,
      layout: 'vector',
      role: 'vector',
    } as const;
    return this.#tensor(request, [size]);
  }

  /** Declares a table [rows, columns] as f32. */
  table(name: string, rows: number, columns: number): Tensor {
    const request = { ...PLAIN, names: [name], rows: [rows], k: columns } as const;
    return this.#tensor({ ...request, layout: 'table', role: 'table' }, [rows, columns]);
  }

  /** Declares a matrix [rows, k], or [rows, k, 1, 1] for those stored as 1×1 convolutions. */
  matrix(name: string, rows: number, k: number, options: MatrixOptions = {}): Matrix {
    return this.stacked([{ name, rows }], k, options);
  }

  /** Declares several matrices [rows, k] whose rows follow each other. */
  stacked(parts: readonly Rows[], k: number, { bias = false, split = 'none' }: MatrixOptions = {}): Matrix {
    return this.#matrix({ ...PLAIN, ...listed(parts, bias), k, role: 'linear', split });
  }

  /** Declares an embedding [rows, k] with a row per token id; also for a tied head. */
  embedding(name: string, rows: number, k: number): Matrix {
    return this.#matrix({ ...PLAIN, names: [name], rows: [rows], k, role: 'embedding', split: 'columns' });
  }

  /** Declares a router [rows, k], which keeps its stored format even if matrices are quantized. */
  router(name: string, rows: number, k: number, { bias = false }: MatrixOptions = {}): Matrix {
    return this.#matrix({ ...PLAIN, ...listed([{ name, rows }], bias), k, role: 'router' });
  }

  /** Declares two matrices [rows, k], gate and up, that SwiGLU reads together. */
  gateUp(gate: string, up: string, rows: number, k: number, { bias = false }: MatrixOptions = {}): Matrix {
    const parts = [gate, up].map((name) => ({ name, rows }));
    const request = { ...PLAIN, ...listed(parts, bias), k, layout: 'interleaved', role: 'linear' } as const;
    return this.#matrix({ ...request, split: 'columns' });
  }

  /** Declares a matrix [2 · rows, k] whose two halves a gated unit takes together. */
  halves(name: string, rows: number, k: number, { bias = false }: MatrixOptions = {}): Matrix {
    const parts = [{ name, rows: 2 * rows }];
    const request = { ...PLAIN, ...listed(parts, bias), k, layout: 'halves', role: 'linear' } as const;
    return this.#matrix({ ...request, split: 'columns' });
  }

  /** Declares the projections of gates, one after the other, [rows, k] each, which keep their stored formats like routers. */
  gates(parts: readonly Rows[], k: number): Matrix {
    return this.#matrix({ ...PLAIN, ...listed(parts, false), k, role: 'router' });
  }

  /** Declares each expert's matrix [rows, k]; a row of activations uses those of the experts that it is routed to. */
  experts(names: readonly string[], rows: number, k: number, { bias = false }: MatrixOptions = {}): Matrix {
    const parts = names.map((name) => ({ name, rows }));
    const request = { ...PLAIN, ...listed(parts, bias), k, role: 'expert' } as const;
    return this.#matrix({ ...request, experts: names.length, split: 'rows' });
  }

  /** Declares each expert's two matrices [rows, k] for SwiGLU. */
  expertGateUps(
    pairs: readonly { gate: string; up: string }[],
    rows: number,
    k: number,
    { bias = false }: MatrixOptions = {},
  ): Matrix {
    const parts = pairs.flatMap(({ gate, up }) => [gate, up].map((name) => ({ name, rows })));
    const request = { ...PLAIN, ...listed(parts, bias), k, layout: 'interleaved', role: 'expert' } as const;
    return this.#matrix({ ...request, experts: pairs.length, split: 'columns' });
  }

  /** Declares each expert's matrix [2 · rows, k], in which rows of gate and up alternate. */
  expertTurns(
    names: readonly string[],
    rows: number,
    k: number,
    { bias = false }: MatrixOptions = {},
  ): Matrix {
    const parts = names.map((name) => ({ name, rows: 2 * rows }));
    const request = { ...PLAIN, ...listed(parts, bias), k, layout: 'turns', role: 'expert' } as const;
    return this.#matrix({ ...request, experts: names.length, split: 'columns' });
  }

  /** Declares each expert's matrix [2 · rows, k], in which the rows of gate come before those of up. */
  expertHalves(names: readonly string[], rows: number, k: number): Matrix {
    const parts = names.map((name) => ({ name, rows: 2 * rows }));
    const request = { ...PLAIN, ...listed(parts, false), k, layout: 'halves', role: 'expert' } as const;
    return this.#matrix({ ...request, experts: names.length, split: 'columns' });
  }

  /** Declares a convolution [out, channels, kernel, kernel], or [out, channels] for kernel 1. */
  conv(
    name: string,
    out: number,
    channels: number,
    kernel: 1 | 3,
    { bias = true, stride = 1 }: ConvOptions = {},
  ): Matrix {
    const parts = [{ name, rows: out }];
    return this.#matrix({ ...PLAIN, ...listed(parts, bias), k: channels, role: 'conv', kernel, stride });
  }

  /** Names of tensors that may exist without being read. */
  ignore(names: RegExp): void {
    this.ignored.push(names);
  }

  #matrix(stated: WeightRequest): Matrix {
    const request = { ...stated, ...inputOrders(stated, this.#names) };
    const parts = partsOf(request);
    const matrix = new Matrix(request.k, parts, request);
    if (request.bias) matrix.bias = floatTensor([biasSize(matrix)]);
    return this.#add(request, matrix);
  }

  #tensor(request: WeightRequest, shape: number[]): Tensor {
    return this.#add(request, floatTensor(shape));
  }

  #add<Handle extends WeightHandle>(request: WeightRequest, handle: Handle): Handle {
    this.requests.push(request);
    this.handles.push(handle);
    return handle;
  }
}

function listed(parts: readonly Rows[], bias: boolean): Pick<WeightRequest, 'names' | 'rows' | 'bias'> {
  const names = parts.map(({ name }) => name);
  return {
    names,
    rows: parts.map(({ rows }) => rows),
    bias: bias ? names.map((name) => name.replace(/weight$/, 'bias')) : null,
  };
}

/** Values of a matrix's bias: those of its columns; with experts, those of each begin with a group of its own. */
export function biasSize(shape: { columns: number; experts: number }): number {
  return shape.experts === 1 ? shape.columns : shape.experts * GROUP * expertGroups(shape);
}

/** The even and the odd rows of one tensor, interleaved. */
function turns(name: string, rows: number): MatrixPart[] {
  return interleaved(name, name, rows).map((part, i) => ({ ...part, firstRow: i, rowStep: 2 }));
}

/** Returns the places of a request's rows among the columns of its matrix, and of their k's among its k's. */
export function partsOf(request: WeightRequest): MatrixPart[] {
  const { names, k, orderOf } = request;
  const parts = columnParts(request);
  return orderOf ? parts.map((part) => ({ ...part, firstK: k * orderOf[names.indexOf(part.name)]! })) : parts;
}

function columnParts({ names, rows, layout, experts }: WeightRequest): MatrixPart[] {
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

/** A tensor that a request reads. */
export interface RequestedTensor {
  name: string;
  shape: readonly number[];
}

/** Lists the tensors that a request reads, weights before biases. */
export function tensorsOf({ names, rows, k, kernel, layout, bias }: WeightRequest): RequestedTensor[] {
  const behind = layout === 'vector' ? [] : kernel > 1 ? [k, kernel, kernel] : [k];
  return [
    ...names.map((name, i) => ({ name, shape: [rows[i]!, ...behind] })),
    ...(bias ?? []).map((name, i) => ({ name, shape: [rows[i]!] })),
  ];
}

/** Returns true if a quantizer may quantize the weights of a role. Convolutions count like linear layers. */
export function mayQuantise(role: Role): boolean {
  return role === 'linear' || role === 'embedding' || role === 'expert' || role === 'conv';
}
