// Names and shapes of the weights that a model page reads, by the checkpoint's own names. A page is run once on a WeightTable: it
// receives handles (matrices and tensors without memory) that its functions close over, and leaves a list of requests as plain
// data. engine/weights reads that list for everything else.

import type { Tensor } from '../gpu/tensor.ts';
import { Matrix } from '../kernels/matrix.ts';
import { floatTensor } from '../kernels/widen.ts';
import { inputOrders, type StoredNames } from './input-orders.ts';
import { lowRankNames, SHARED, type LowRankNames } from './low-rank.ts';
import { partOfCount, refuseLowRank } from './division.ts';
import { biasSize, listed, partsOf } from './weight-requests.ts';
import type { DevicePart, Rows, Split, WeightRequest } from './weight-requests.ts';

export * from './weight-requests.ts';

export type WeightHandle = Matrix | Tensor;

export interface MatrixOptions {
  /** Whether x.weight is accompanied by x.bias. */
  bias?: boolean;
  split?: Split;
  /** Lengths of the ranges of each tensor's rows, or columns with split `rows`, that are divided each on its own; left out: they are one. */
  ranges?: readonly number[];
  /** Extents behind the rows as stored, whose product is k: a convolution whose windows do not overlap is a matrix of patches. */
  stored?: readonly number[];
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
  readonly requests: WeightRequest[];
  /** Handles, one for each request. */
  readonly handles: WeightHandle[];
  /** Names that a checkpoint may hold although the page does not read them. */
  readonly ignored: RegExp[];
  readonly #names: StoredNames;
  readonly #part: DevicePart;
  #isDivided = false;

  /** `names`: names of the checkpoint's tensors; `part`: the part of divided matrices; `onto`: the table whose lists this one continues. */
  constructor(names: StoredNames, part: DevicePart = { rank: 0, ranks: 1 }, onto?: WeightTable) {
    this.#names = names;
    this.#part = part;
    ({
      requests: this.requests,
      handles: this.handles,
      ignored: this.ignored,
    } = onto ?? { requests: [], handles: [], ignored: [] });
  }

  /**
   * Returns a configuration with this device's part of counts, such as heads, and a table on which the matrices that are declared with a split have
   * that part's sizes; others are whole. Throws bad_request for a count that the number of devices does not divide.
   */
  divide<Config>(config: Config, ...counts: (keyof Config & string)[]): [Config, WeightTable] {
    const { ranks } = this.#part;
    if (ranks === 1) return [config, this];
    const table = new WeightTable(this.#names, this.#part, this);
    table.#isDivided = true;
    const part = counts.map((name) => [name, partOfCount(name, config[name], ranks)]);
    return [{ ...config, ...Object.fromEntries(part) } as Config, table];
  }

  /** Returns true if the checkpoint has a tensor of this name; for weights that some checkpoints lack or name differently. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Declares a vector [size] as f32; `plus` is added to each value. With split `columns` it is divided like rows of matrices. */
  vector(
    name: string,
    size: number,
    { plus = 0, split = 'none' }: { plus?: 0 | 1; split?: 'none' | 'columns' } = {},
  ): Tensor {
    const request = {
      ...PLAIN,
      plus,
      ...this.#divided(split),
      names: [name],
      rows: [size],
      k: 1,
      layout: 'vector',
      role: 'vector',
    } as const;
    return this.#tensor(request, [size]);
  }

  /** Declares a table [rows, columns] as f32; `stored`: extents of a row as stored, and `rowsAs` of the rows, if they are several. */
  table(name: string, rows: number, columns: number, stored?: readonly number[], rowsAs?: readonly number[]) {
    const extents = { ...(stored && { stored }), ...(rowsAs && { rowsAs }) };
    const request = { ...PLAIN, names: [name], rows: [rows], k: columns, ...extents } as const;
    return this.#tensor({ ...request, layout: 'table', role: 'table' }, [rows, columns]);
  }

  /** Declares the kernels of a depthwise convolution, stored as [channels, 1, kernel, kernel], as f32 [channels, kernel²]. */
  kernels(name: string, channels: number, kernel: number): Tensor {
    const stored = { k: kernel ** 2, stored: [1, kernel, kernel] } as const;
    const request = { ...PLAIN, names: [name], rows: [channels], ...stored } as const;
    return this.#tensor({ ...request, layout: 'table', role: 'table' }, [channels, kernel ** 2]);
  }

  /** Declares a matrix [rows, k], or [rows, k, 1, 1] for those stored as 1×1 convolutions. */
  matrix(name: string, rows: number, k: number, options: MatrixOptions = {}): Matrix {
    return this.stacked([{ name, rows }], k, options);
  }

  /** Declares several matrices [rows, k] whose rows follow each other. */
  stacked(
    parts: readonly Rows[],
    k: number,
    { bias = false, split = 'none', stored, ranges }: MatrixOptions = {},
  ): Matrix {
    const request = { ...PLAIN, ...listed(parts, bias), k, role: 'linear' } as const;
    return this.#matrix({ ...request, ...this.#divided(split, ranges), ...(stored && { stored }) });
  }

  /** Declares the head [rows, k] of a language model whose configuration does not tie it to the embedding; `bias`: whether it has one, or its name. */
  head(name: string, rows: number, k: number, { bias = false }: { bias?: boolean | string } = {}): Matrix {
    const request = { ...PLAIN, ...listed([{ name, rows }], bias), k, role: 'linear' } as const;
    return this.#matrix({ ...request, split: 'columns', mayBeTied: true });
  }

  /** Declares an embedding [rows, k] with a row per token id; also for a tied head, whose products add a bias of that name. */
  embedding(name: string, rows: number, k: number, { bias = false }: { bias?: false | string } = {}): Matrix {
    const request = { ...PLAIN, ...listed([{ name, rows }], bias), k, role: 'embedding' } as const;
    return this.#matrix({ ...request, split: 'columns' });
  }

  /** Declares a router [rows, k], which keeps its stored format even if matrices are quantized. */
  router(name: string, rows: number, k: number, { bias = false }: MatrixOptions = {}): Matrix {
    return this.#matrix({ ...PLAIN, ...listed([{ name, rows }], bias), k, role: 'router' });
  }

  /** Declares two matrices [rows, k], gate and up, that SwiGLU reads together. */
  gateUp(gate: string, up: string, rows: number, k: number, { bias = false }: MatrixOptions = {}): Matrix {
    const parts = [gate, up].map((name) => ({ name, rows }));
    const request = { ...PLAIN, ...listed(parts, bias), k, layout: 'interleaved', role: 'linear' } as const;
    return this.#matrix({ ...request, ...this.#divided('columns') });
  }

  /** Declares a matrix [2 · rows, k] whose two halves a gated unit takes together. */
  halves(name: string, rows: number, k: number, { bias = false }: MatrixOptions = {}): Matrix {
    const parts = [{ name, rows: 2 * rows }];
    const request = { ...PLAIN, ...listed(parts, bias), k, layout: 'halves', role: 'linear' } as const;
    return this.#matrix({ ...request, ...this.#divided('columns', [rows, rows]) });
  }

  /** Declares the projections of gates, one after the other, [rows, k] each, which keep their stored formats like routers. */
  gates(parts: readonly Rows[], k: number): Matrix {
    return this.#matrix({ ...PLAIN, ...listed(parts, false), k, role: 'router' });
  }

  /** Declares each expert's matrix [rows, k]; a row of activations uses those of the experts that it is routed to. */
  experts(
    names: readonly string[],
    rows: number,
    k: number,
    { bias = false, split = 'rows' }: MatrixOptions = {},
  ): Matrix {
    const parts = names.map((name) => ({ name, rows }));
    const request = { ...PLAIN, ...listed(parts, bias), k, role: 'expert' } as const;
    return this.#matrix({ ...request, experts: names.length, split });
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

  /** Declares a tensor [heads · rows, k] as a matrix [rows, k] of each head, which keeps its stored format like a router. */
  heads(name: string, heads: number, rows: number, k: number): Matrix {
    const request = { ...PLAIN, names: [name], rows: [heads * rows], k, role: 'heads' } as const;
    return this.#matrix({ ...request, layout: 'heads', experts: heads });
  }

  /**
   * Declares a convolution over time, [out, channels, frames, kernel, kernel], as one matrix for each frame of its kernel: that of the frame
   * itself, with the bias, then those of the frames before it. `reads`: how many of them; a single image has none before it.
   */
  convOverTime(
    name: string,
    out: number,
    channels: number,
    [frames, kernel]: readonly [frames: number, kernel: 1 | 3],
    reads: number = frames,
    { stride = 1 }: Pick<ConvOptions, 'stride'> = {},
  ): Matrix[] {
    return Array.from({ length: reads }, (_, before) => {
      const parts = listed([{ name, rows: out }], before === 0);
      const time = { frames, frame: frames - 1 - before };
      return this.#matrix({ ...PLAIN, ...parts, k: channels, role: 'conv', kernel, stride, time });
    });
  }

  /** Names of tensors that may exist without being read. */
  ignore(names: RegExp): void {
    this.ignored.push(names);
  }

  /** How a weight of this table is split, and the part of it that this device has. */
  #divided(split: Split, ranges?: readonly number[]): Pick<WeightRequest, 'split' | 'division'> {
    return this.#isDivided && split !== 'none' ? { split, division: { ...this.#part, ranges } } : { split };
  }

  #matrix(stated: WeightRequest): Matrix {
    const { division } = stated;
    const isSum = division !== undefined && stated.split === 'rows';
    // The first device's part of a sum has the bias.
    const own = isSum && division.rank > 0 ? { ...stated, bias: null } : stated;
    const request = { ...own, ...inputOrders(own, this.#names) };
    const parts = partsOf(request);
    const matrix = new Matrix(request.k, parts, { ...request, isPart: isSum });
    if (request.bias) matrix.bias = floatTensor([biasSize(matrix)]);
    this.#add(request, matrix);
    const beside = request.role === 'linear' ? lowRankNames(request.names, this.#names) : null;
    if (beside && division) refuseLowRank(request.names[0]!, division);
    if (beside) this.#lowRank(matrix, request, beside);
    return matrix;
  }

  /** Declares what stands beside a matrix in codes, which keeps its stored formats like routers. */
  #lowRank(
    matrix: Matrix,
    { rows, layout, k }: WeightRequest,
    { down, rank, ups, smooth }: LowRankNames,
  ): void {
    const kept = { ...PLAIN, role: 'router' } as const;
    matrix.lowRank = {
      down: this.#matrix({ ...kept, names: [down], rows: [rank], k }),
      up: this.#matrix({ ...kept, names: ups, rows, layout, k: rank }),
    };
    if (smooth !== null) matrix.smooth = this.table(smooth, 2, k);
    // Parts that are multiplied together have them under each of their names.
    this.ignore(SHARED);
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
