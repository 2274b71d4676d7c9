// A tensor is a shape over bytes on a device: either bytes of its own (weights, step data) or a place in a tape's
// arena that the plan decides. Rows are padded to 32 columns; padding columns hold zeros, and every kernel keeps it so.
// Behind the last row lie rows of no meaning, so that matmuls may read and write whole tiles.

/** A fixed extent, or the name of a size known at replay (`rows`, `sampled` …). */
export type Extent = number | string;
export type Sizes = Readonly<Record<string, number>>;
export type Dtype = 'f32' | 'u32';

/** The tape that computes a tensor, as far as tensors need it. */
export interface TensorOwner {
  /** Sizes at which the tape's tensors are laid out. */
  readonly capacity: Sizes;
  /** Ends a segment: the unit of submitting, cancelling and taking turns. */
  cut(): void;
}

/** Bytes as a binding sees them. */
export interface Region {
  buffer: GPUBuffer;
  /** Bytes; a multiple of 256. */
  offset: number;
  size: number;
}

const COLUMN_PADDING = 32;

export class Tensor {
  readonly shape: readonly Extent[];
  readonly dtype: Dtype;
  /** The tape that computes it; null for tensors with bytes of their own. */
  readonly tape: TensorOwner | null;
  #region: Region | null;

  constructor(shape: readonly Extent[], dtype: Dtype, owner: { tape?: TensorOwner; region?: Region } = {}) {
    this.shape = shape;
    this.dtype = dtype;
    this.tape = owner.tape ?? null;
    this.#region = owner.region ?? null;
  }

  /** Bytes of its own; null for intermediates, and for weights that have none yet. */
  get region(): Region | null {
    return this.#region;
  }

  /** Gives a tensor that belongs to no tape its bytes, or others. */
  place(region: Region): void {
    if (this.tape) throw new Error('the tape decides where an intermediate lies');
    this.#region = region;
  }

  /** A tensor over these bytes that launchers may record on `tape`. */
  on(tape: TensorOwner): Tensor {
    if (!this.region) throw new Error('only a tensor with bytes of its own can be put on a tape');
    return new Tensor(this.shape, this.dtype, { region: this.region, tape });
  }

  /** Elements of the last dimension. */
  get columns(): number {
    return columnsOf(this.shape);
  }

  /** Elements from one row to the next. */
  get stride(): number {
    return paddedColumns(this.columns);
  }

  /** Rows at replay: the product of all dimensions but the last. */
  rows(sizes: Sizes): number {
    return rowsOf(this.shape, sizes);
  }

  /** Bytes of its rows where the named sizes are as given. */
  bytes(sizes: Sizes): number {
    return this.rows(sizes) * this.stride * 4;
  }

  /** Bytes it is given: those of its rows and of the rows behind them. */
  heldBytes(sizes: Sizes): number {
    return tensorBytes(this.shape, sizes);
  }
}

function columnsOf(shape: readonly Extent[]): number {
  const last = shape.at(-1);
  if (typeof last !== 'number') throw new Error(`the last dimension of [${shape.join(', ')}] is not fixed`);
  return last;
}

function rowsOf(shape: readonly Extent[], sizes: Sizes): number {
  return shape.slice(0, -1).reduce<number>((product, extent) => product * resolve(extent, sizes), 1);
}

/** Bytes that a tensor of this shape is given, rows behind its last one included. */
export function tensorBytes(shape: readonly Extent[], sizes: Sizes): number {
  return paddedRows(rowsOf(shape, sizes)) * paddedColumns(columnsOf(shape)) * 4;
}

/** Bytes that a buffer of `bytes` takes of the memory budget. */
export function allocatedBytes(bytes: number): number {
  return Math.max(256, Math.ceil(bytes / 256) * 256);
}

/** Rows that a tensor is given: one, four, or whole tiles of 16. */
export function paddedRows(rows: number): number {
  if (rows <= 1) return rows;
  return rows <= 4 ? 4 : Math.ceil(rows / 16) * 16;
}

export function paddedColumns(columns: number): number {
  return Math.ceil(columns / COLUMN_PADDING) * COLUMN_PADDING;
}

function resolve(extent: Extent, sizes: Sizes): number {
  if (typeof extent === 'number') return extent;
  const size = sizes[extent];
  if (size === undefined)
    throw new Error(`no size is called ${extent}; there are ${Object.keys(sizes).join(', ')}`);
  return size;
}
