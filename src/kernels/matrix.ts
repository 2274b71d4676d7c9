// A weight matrix in the packed layout that every matmul variant reads (shaders/weights): groups of 32 columns, blocks of 32 k's. It spans
// windows, each within one binding, and remembers which checkpoint tensors it consists of. A convolution's matrix has the k's of one tap
// after those of another; experts' matrices of one shape stand one behind the other, each from a group of its own. A matrix is made
// before it has bytes, so that a model page can be built first; its bytes may be replaced later.

import { EngineError } from '../files/error.ts';
import type { Device } from '../gpu/device.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';
import { groupBytes, type WeightFormat } from './formats.ts';

/** Groups of columns within one binding. */
export interface MatrixWindow {
  codes: Region;
  /** null for formats without scales. */
  scales: Region | null;
  firstGroup: number;
  groups: number;
  format: WeightFormat;
}

/** Columns at which rows of a checkpoint's tensor stand: unit by unit. */
export interface Placement {
  firstColumn: number;
  unit: number;
  unitStride: number;
}

export interface MatrixPart {
  name: string;
  rows: number;
  /** Rows of the checkpoint's tensor before the part, and from one row of the part to the next; left out: 1. */
  firstRow: number;
  rowStep?: number;
  placement: Placement;
}

/** Properties of a matrix beside its rows and columns. */
export interface MatrixForm {
  /** Width and height of a convolution's kernel. */
  kernel?: 1 | 3;
  /** Number of matrices that the parts make up: see expertParts. */
  experts?: number;
}

/** The bytes of a matrix and what they are. */
export interface PlacedMatrix {
  /** Taps g of a 3×3 are stored as G · g · Gᵀ, for kernels/winograd.ts. */
  winograd: boolean;
  windows: readonly MatrixWindow[];
}

/** Layout in shaders/lib/lora.wgsl; `rank`: the largest, a multiple of 4. */
export interface LoraFactors {
  region: Region;
  rank: number;
}

/** Columns of a group. */
export const GROUP = 32;
export const BLOCK = 32;

/** y = x · Wᵀ (+ bias): `columns` outputs, `k` inputs a tap; with experts, those of each. */
export class Matrix {
  readonly k: number;
  readonly columns: number;
  readonly kernel: 1 | 3;
  /** Number of matrices of this shape; 1 where there are no experts. */
  readonly experts: number;
  readonly parts: readonly MatrixPart[];
  bias: Tensor | null = null;
  /** The input of each k, u32 [1, k]; null: k's are in the order of the inputs. */
  order: Tensor | null = null;
  /** Factors that low-rank adapters add for the rows that have one; set and cleared as adapters come and go. */
  lora: LoraFactors | null = null;
  #placed: PlacedMatrix | null = null;

  constructor(k: number, parts: readonly MatrixPart[], { kernel = 1, experts = 1 }: MatrixForm = {}) {
    this.k = k;
    this.parts = parts;
    this.kernel = kernel;
    this.experts = experts;
    this.columns = parts.reduce((sum, part) => sum + part.rows, 0) / experts;
  }

  /** Gives the matrix its bytes, or others. Tapes recorded before keep those that it had. */
  place({ winograd, windows }: PlacedMatrix): void {
    this.#placed = { winograd, windows };
  }

  get #bytes(): PlacedMatrix {
    if (this.#placed === null)
      throw new Error(`${this.name} has no bytes yet: place it before it is recorded`);
    return this.#placed;
  }

  get name(): string {
    return this.parts[0]!.name;
  }

  /** Formats of the windows, each once. */
  get formats(): WeightFormat[] {
    return [...new Set(this.windows.map(({ format }) => format))];
  }

  get winograd(): boolean {
    return this.#bytes.winograd;
  }

  get windows(): readonly [MatrixWindow, ...MatrixWindow[]] {
    return this.#bytes.windows as [MatrixWindow, ...MatrixWindow[]];
  }

  /** kh · kw of a convolution, 16 in Winograd's form, else 1. */
  get taps(): number {
    return tapsOf(this, this.winograd);
  }

  /** Blocks of 32 k's, those of all taps. */
  get blocks(): number {
    return blocksOf(this, this.winograd);
  }
}

type Shape = Pick<Matrix, 'k' | 'columns' | 'kernel' | 'experts' | 'name'>;

function tapsOf({ kernel }: Pick<Shape, 'kernel'>, winograd: boolean): number {
  return winograd ? 16 : kernel * kernel;
}

function blocksOf(shape: Pick<Shape, 'k' | 'kernel'>, winograd: boolean): number {
  return tapsOf(shape, winograd) * Math.ceil(shape.k / BLOCK);
}

/** Groups of one expert's columns. */
export function expertGroups({ columns }: Pick<Shape, 'columns'>): number {
  return groupsOf(columns);
}

/** Even, so that two interleaved matrices reach the padding of what they make together. */
function groupsOf(columns: number): number {
  return 2 * Math.ceil(columns / (2 * GROUP));
}

/** Parts for the rows of several tensors one after the other (q, k and v). */
export function stacked(parts: readonly { name: string; rows: number }[]): MatrixPart[] {
  let firstColumn = 0;
  return parts.map(({ name, rows }) => {
    const part = { name, rows, firstRow: 0, placement: { firstColumn, unit: rows, unitStride: rows } };
    firstColumn += rows;
    return part;
  });
}

/** Parts for the rows of two tensors in turns of two, so that one lane holds both (gate and up). */
export function interleaved(first: string, second: string, rows: number): MatrixPart[] {
  return [first, second].map((name, i) => ({
    name,
    rows,
    firstRow: 0,
    placement: { firstColumn: 2 * i, unit: 2, unitStride: 4 },
  }));
}

/** Parts for one tensor's two halves of `rows` rows, interleaved (value and gate). */
export function interleavedHalves(name: string, rows: number): MatrixPart[] {
  return interleaved(name, name, rows).map((part, i) => ({ ...part, firstRow: i * rows }));
}

/** Parts of equally shaped matrices as one: each begins with a group of its own. */
export function expertParts(each: readonly MatrixPart[][]): MatrixPart[] {
  const columns = GROUP * groupsOf(each[0]!.reduce((sum, { rows }) => sum + rows, 0));
  return each.flatMap((parts, expert) =>
    parts.map(({ placement, ...part }) => ({
      ...part,
      placement: { ...placement, firstColumn: placement.firstColumn + expert * columns },
    })),
  );
}

/** Groups of columns in one format, up to those of the next span. */
export interface FormatSpan {
  firstGroup: number;
  format: WeightFormat;
}

/** A window that is still to be allocated. */
export interface WindowPlan {
  format: WeightFormat;
  firstGroup: number;
  groups: number;
  /** Bytes of its codes, and of its scales: 0 where the format has none. */
  codes: number;
  scales: number;
}

/** The one span of a matrix whose columns share a format. */
export function wholly(format: WeightFormat): readonly FormatSpan[] {
  return [{ firstGroup: 0, format }];
}

export interface WindowOptions {
  spans: readonly FormatSpan[];
  winograd: boolean;
  bindingLimit: number;
}

/** Windows that a matrix takes, each in one format and within one binding. Throws unsupported where 32 rows exceed one. */
export function planWindows(shape: Shape, options: WindowOptions): WindowPlan[] {
  const total = shape.experts * groupsOf(shape.columns);
  return options.spans.flatMap((span, i) =>
    spanWindows(shape, span, (options.spans[i + 1]?.firstGroup ?? total) - span.firstGroup, options),
  );
}

function spanWindows(
  shape: Shape,
  { format, firstGroup: spanFirst }: FormatSpan,
  total: number,
  { winograd, bindingLimit }: WindowOptions,
): WindowPlan[] {
  const each = groupBytes(format, blocksOf(shape, winograd));
  const perWindow = Math.floor(bindingLimit / each.codes);
  if (perWindow === 0)
    throw new EngineError(
      'unsupported',
      `${shape.name}: 32 rows of ${tapsOf(shape, winograd) * shape.k} exceed one binding of ${bindingLimit} bytes: choose another model, or an adapter that binds more`,
      { param: shape.name },
    );
  return Array.from({ length: Math.ceil(total / perWindow) }, (_, i) => {
    const groups = Math.min(perWindow, total - i * perWindow);
    const bytes = { codes: groups * each.codes, scales: groups * each.scales };
    return { format, firstGroup: spanFirst + i * perWindow, groups, ...bytes };
  });
}

/** Allocates a matrix's windows and places it there. Throws out_of_memory; then nothing stays allocated. */
export function allocateWindows(
  device: Device,
  matrix: Matrix,
  { spans, winograd = false }: { spans: readonly FormatSpan[]; winograd?: boolean },
): void {
  const { bindingLimit } = device.capabilities;
  const made: GPUBuffer[] = [];
  const region = (bytes: number): Region => {
    const buffer = device.allocate('weights', matrix.name, bytes);
    made.push(buffer);
    return { buffer, offset: 0, size: buffer.size };
  };
  try {
    const planned = planWindows(matrix, { spans, winograd, bindingLimit });
    const windows = planned.map(({ codes, scales, ...window }): MatrixWindow => ({
      codes: region(codes),
      scales: scales > 0 ? region(scales) : null,
      ...window,
    }));
    matrix.place({ winograd, windows });
    windows.filter((window) => hasPadding(matrix, window)).forEach((window) => clear(device, window));
  } catch (error) {
    made.forEach((buffer) => device.free(buffer));
    throw error;
  }
}

/** A matrix with bytes of its own. */
export function allocateMatrix(
  device: Device,
  format: WeightFormat,
  k: number,
  parts: readonly MatrixPart[],
  { winograd = false, ...form }: MatrixForm & { winograd?: boolean } = {},
): Matrix {
  const matrix = new Matrix(k, parts, form);
  allocateWindows(device, matrix, { spans: wholly(format), winograd });
  return matrix;
}

function hasPadding({ columns, experts }: Matrix, { firstGroup, groups }: MatrixWindow): boolean {
  const wholeGroups = Math.floor(columns / GROUP);
  return groupsOf(columns) > wholeGroups && (experts > 1 || firstGroup + groups > wholeGroups);
}

/** Columns that pad the last groups must be zero: they become the padding of activations. */
function clear(device: Device, window: MatrixWindow): void {
  const encoder = device.gpu.createCommandEncoder();
  encoder.clearBuffer(window.codes.buffer, window.codes.offset, window.codes.size);
  if (window.scales) encoder.clearBuffer(window.scales.buffer, window.scales.offset, window.scales.size);
  device.gpu.queue.submit([encoder.finish()]);
}

/** Operands of weights/$W.wgsl. */
export function weightOperands(window: MatrixWindow): Record<string, Region> {
  return window.scales ? { codes: window.codes, scales: window.scales } : { codes: window.codes };
}

/** Whether columns of a part lie in a window. */
export function reaches({ rows, placement }: MatrixPart, { firstGroup, groups }: MatrixWindow): boolean {
  const { firstColumn, unit, unitStride } = placement;
  const lastColumn = firstColumn + Math.floor((rows - 1) / unit) * unitStride + ((rows - 1) % unit);
  return lastColumn >= firstGroup * GROUP && firstColumn < (firstGroup + groups) * GROUP;
}
