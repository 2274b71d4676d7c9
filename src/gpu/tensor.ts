// A tensor is a shape over bytes on a device: a buffer of its own (weights, step data) or a place in a tape's arena that the plan
// assigns. Rows are padded to 32 columns; padding columns contain zeros, which every kernel preserves. After the last row there are
// padding rows with arbitrary values, so that matmuls may read and write whole tiles.

/** A fixed extent, the name of a size known at replay (`rows`, `sampled` …), or what is computed of such sizes. */
export type Extent = number | string | ((sizes: Sizes) => number);
export type Sizes = Readonly<Record<string, number>>;
export type Dtype = 'f32' | 'u32';

/** The parts of a tape that tensors need. */
export interface TensorOwner {
  /** Sizes at which the tape's tensors are laid out. */
  readonly capacity: Sizes;
  /** Records parts that steps may leave out; null: all steps compute everything. */
  readonly reuse: StepReuse | null;
  /** Ends a segment, which is the unit of submitting, cancelling and taking turns. */
  cut(): void;
}

/** Blocks of a denoiser that change the same tensors in place, one after the other. */
export interface BlockRow {
  /** Records what stands before the first block; left out: nothing does. */
  enter?(): void;
  blocks: readonly (() => void)[];
  /** What the blocks change, [items, tokens, columns] each; the last holds the tokens of the image. */
  changed: readonly Tensor[];
}

/** Records parts of a denoiser so that a replay can leave them out. */
export interface StepReuse {
  /** Records rows of blocks, of which each row begins with the tokens of the one before. `probe`: records what tells how far the input has moved. */
  blocks(rows: readonly BlockRow[], probe?: () => Tensor): void;
  /** Levels around the deep part of a UNet, beside the first, that steps compute always. */
  readonly levels: number;
  /** Records the deep part of a UNet, and returns what it makes of x. */
  deep(x: Tensor, record: (x: Tensor) => Tensor): Tensor;
}

/** Bytes as a binding sees them. */
export interface Region {
  buffer: GPUBuffer;
  /** Offset in bytes; a multiple of 256. */
  offset: number;
  size: number;
}

const COLUMN_PADDING = 32;

export class Tensor {
  readonly shape: readonly Extent[];
  readonly dtype: Dtype;
  /** The tape that computes it; null for a tensor with a buffer of its own. */
  readonly tape: TensorOwner | null;
  #region: Region | null;

  constructor(shape: readonly Extent[], dtype: Dtype, owner: { tape?: TensorOwner; region?: Region } = {}) {
    this.shape = shape;
    this.dtype = dtype;
    this.tape = owner.tape ?? null;
    this.#region = owner.region ?? null;
  }

  /** The tensor's own memory; null for an intermediate, and for a weight that is not placed yet. */
  get region(): Region | null {
    return this.#region;
  }

  /** Sets or replaces the memory of a tensor that belongs to no tape. */
  place(region: Region): void {
    if (this.tape) throw new Error('the tape decides where an intermediate lies');
    this.#region = region;
  }

  /** Returns a tensor over the same memory that launchers may record on `tape`. */
  on(tape: TensorOwner): Tensor {
    if (!this.region) throw new Error('only a tensor with bytes of its own can be put on a tape');
    return new Tensor(this.shape, this.dtype, { region: this.region, tape });
  }

  /** Elements of the last dimension. */
  get columns(): number {
    return columnsOf(this.shape);
  }

  /** Number of elements from one row to the next. */
  get stride(): number {
    return paddedColumns(this.columns);
  }

  /** Number of rows at replay: the product of all dimensions but the last. */
  rows(sizes: Sizes): number {
    return rowsOf(this.shape, sizes);
  }

  /** Bytes of its rows for the given sizes. */
  bytes(sizes: Sizes): number {
    return this.rows(sizes) * this.stride * 4;
  }

  /** Bytes allocated for it: those of its rows and of the padding rows. */
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

/** Bytes that a tensor of this shape is allocated, including padding rows. */
export function tensorBytes(shape: readonly Extent[], sizes: Sizes): number {
  return paddedRows(rowsOf(shape, sizes)) * paddedColumns(columnsOf(shape)) * 4;
}

/** Bytes that a buffer of `bytes` takes from the memory budget. */
export function allocatedBytes(bytes: number): number {
  return Math.max(256, Math.ceil(bytes / 256) * 256);
}

/** Number of rows allocated for a tensor: one, four, or whole tiles of 16. */
export function paddedRows(rows: number): number {
  if (rows <= 1) return rows;
  return rows <= 4 ? 4 : Math.ceil(rows / 16) * 16;
}

export function paddedColumns(columns: number): number {
  return Math.ceil(columns / COLUMN_PADDING) * COLUMN_PADDING;
}

function resolve(extent: Extent, sizes: Sizes): number {
  if (typeof extent === 'number') return extent;
  if (typeof extent === 'function') return extent(sizes);
  const size = sizes[extent];
  if (size === undefined)
    throw new Error(`no size is called ${extent}; there are ${Object.keys(sizes).join(', ')}`);
  return size;
}
