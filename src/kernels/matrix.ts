// A weight matrix in the packed layout that every matmul variant reads (shaders/weights): groups of 32 columns, blocks of 32 k's. It spans
// windows, each within one binding, and remembers which checkpoint tensors it consists of. A convolution's matrix has the k's of one tap
// after those of another; experts' matrices of one shape stand one behind the other, each from a group of its own. A matrix is made
// before it has bytes, so that a model page can be built first; its bytes may be replaced later.

import type { Device } from '../gpu/device.ts';
import type { Round } from '../gpu/replay.ts';
import { Tensor, type Region } from '../gpu/tensor.ts';
import { fillZeros, wholeOf } from '../gpu/memory.ts';
import type { WeightFormat } from './formats.ts';
import { gridOperand } from './grid-points.ts';
import { blocksOf, GROUP, groupsOf, planWindows, tapsOf, wholly, type FormatSpan } from './matrix-windows.ts';

export { BLOCK, expertGroups, GROUP } from './matrix-windows.ts';

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
  /** K's as packed before those that the part has weights for; left out: 0. */
  firstK?: number;
  placement: Placement;
}

/** Frames of a kernel over time as stored, and the one of them that a matrix holds. */
export interface TimeAxis {
  readonly frames: number;
  readonly frame: number;
}

/** Properties of a matrix beside its rows and columns. */
export interface MatrixForm {
  /** Width and height of a convolution's kernel. */
  kernel?: 1 | 3;
  /** The time axis of the kernel as stored; left out: it has none. */
  time?: TimeAxis;
  /** Number of matrices that the parts make up: see expertParts. */
  experts?: number;
  /** Orders that inputs stand in, one after another as packed; none: the inputs' own. */
  orders?: readonly unknown[];
  /** Whether other devices have the weights for further k's of the same columns, so that products are parts of sums; left out: none has. */
  isPart?: boolean;
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

/** Factors beside weights: x · downᵀ · upᵀ is added to x · Wᵀ, for all rows. */
export interface BesideFactors {
  /** [rank, k] */
  down: Matrix;
  /** [columns, rank], with the columns placed like those of the weights. */
  up: Matrix;
}

/** The slots of a layer's experts. */
export interface ExpertSlots {
  /** u32: the slot of each expert in a round, or IDLE of expert-slots.ts. */
  readonly table: Region;
  /** Returns the rounds that bring these experts, each of which is named once. */
  bring(experts: readonly number[]): readonly Round[];
}

/** y = x · Wᵀ (+ bias): `columns` outputs, `k` inputs a tap; with experts, those of each. */
export class Matrix {
  readonly k: number;
  readonly columns: number;
  readonly kernel: 1 | 3;
  readonly time: TimeAxis;
  /** Number of matrices of this shape; 1 where there are no experts. */
  readonly experts: number;
  readonly parts: readonly MatrixPart[];
  readonly isPart: boolean;
  bias: Tensor | null = null;
  /** The input of each k as packed, u32 [1, orders · k]; null: k's are in the order of the inputs. */
  readonly order: Tensor | null;
  /** Factors that belong to the weights, see models/low-rank.ts; null: the weights stand alone. */
  lowRank: BesideFactors | null = null;
  /** f32 [2, k]: inputs are multiplied by the first row once the second has been added; null: they are read as they are. */
  smooth: Tensor | null = null;
  /** Factors that low-rank adapters add for the rows that have one; set and cleared as adapters come and go. */
  lora: LoraFactors | null = null;
  /** Factors of image models' adapters; set and cleared between images. */
  beside: BesideFactors | null = null;
  /** Slots that the windows and the bias have the experts of instead of all; null: they have all. */
  slots: ExpertSlots | null = null;
  #placed: PlacedMatrix | null = null;

  constructor(
    k: number,
    parts: readonly MatrixPart[],
    { kernel = 1, time = { frames: 1, frame: 0 }, experts = 1, orders = [], isPart = false }: MatrixForm = {},
  ) {
    this.k = k;
    this.order = orders.length === 0 ? null : new Tensor([1, orders.length * k], 'u32');
    this.parts = parts;
    this.kernel = kernel;
    this.time = time;
    this.experts = experts;
    this.isPart = isPart;
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
    parts.map((part) => {
      const { placement } = part;
      return { ...part, placement: { ...placement, firstColumn: placement.firstColumn + expert * columns } };
    }),
  );
}

/** Matrices of heads or experts as one matrix over the same bytes: columns of each, and those that pad its last groups, one after the other. */
export function sideBySide({ k, experts, columns, name, windows, winograd }: Matrix): Matrix {
  const rows = experts * GROUP * groupsOf(columns);
  const all = new Matrix(k, stacked([{ name, rows }]));
  all.place({ winograd, windows });
  return all;
}

/**
 * Allocates a matrix's windows and places it there; returns the regions that have to be zero before weights are packed. Throws out_of_memory; then
 * nothing stays allocated.
 */
export function allocateWindows(
  device: Device,
  matrix: Matrix,
  { spans, winograd = false }: { spans: readonly FormatSpan[]; winograd?: boolean },
): Region[] {
  const { bindingLimit } = device.capabilities;
  const made: GPUBuffer[] = [];
  const region = (bytes: number): Region => {
    const buffer = device.allocate('weights', matrix.name, bytes);
    made.push(buffer);
    return wholeOf(buffer);
  };
  try {
    const planned = planWindows(matrix, { spans, winograd, bindingLimit });
    const windows = planned.map(({ codes, scales, ...window }): MatrixWindow => ({
      codes: region(codes),
      scales: scales > 0 ? region(scales) : null,
      ...window,
    }));
    matrix.place({ winograd, windows });
    // Columns that pad the last groups become the padding of activations.
    const padded = windows.filter((window) => hasPadding(matrix, window));
    return padded.flatMap(({ codes, scales }) => (scales ? [codes, scales] : [codes]));
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
  fillZeros(device, allocateWindows(device, matrix, { spans: wholly(format), winograd }));
  return matrix;
}

function hasPadding({ columns, experts, order, k }: Matrix, { firstGroup, groups }: MatrixWindow): boolean {
  const wholeGroups = Math.floor(columns / GROUP);
  // Where parts have k's of their own, those of the others are padding.
  if (order && order.columns > k) return true;
  return groupsOf(columns) > wholeGroups && (experts > 1 || firstGroup + groups > wholeGroups);
}

/** Operands of weights/$W.wgsl. */
export function weightOperands(device: Device, window: MatrixWindow): Record<string, Region> {
  const { codes, scales, format } = window;
  return { codes, ...(scales && { scales }), ...gridOperand(device, format) };
}

/** Whether columns of a part lie in a window. */
export function reaches({ rows, placement }: MatrixPart, { firstGroup, groups }: MatrixWindow): boolean {
  const { firstColumn, unit, unitStride } = placement;
  const lastColumn = firstColumn + Math.floor((rows - 1) / unit) * unitStride + ((rows - 1) % unit);
  return lastColumn >= firstGroup * GROUP && firstColumn < (firstGroup + groups) * GROUP;
}
