// Changes of LoRAs beside weights that are stored in codes, to which nothing can be added without rounding them again: each matrix gets
// two small ones, whose product is added to its own by the ordinary matmul kernels. Several LoRAs stand rank after rank in one pair.

import { type EngineError, unsupported } from '../../files/error.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import type { Device } from '../../gpu/device.ts';
import type { Tape } from '../../gpu/tape.ts';
import { Tensor, type Region } from '../../gpu/tensor.ts';
import { FORMATS, SOURCES, storedBlock } from '../../kernels/formats.ts';
import { allocateMatrix, Matrix, stacked, type BesideFactors } from '../../kernels/matrix.ts';
import { packRows } from '../../kernels/pack.ts';
import { runOnce } from '../../kernels/run-once.ts';
import { widen } from '../../kernels/widen.ts';
import type { Collected } from './collect.ts';
import type { WeightChange, WeightChanges } from './change.ts';
import { Factors } from './factors.ts';
import { LowRanks, rankOfDelta, zeros, type LowRank } from './low-rank.ts';
import { windowRegions } from './place.ts';

/** Whether changes can be added to a tensor while it is packed: it holds numbers, row by row. */
export function takesSums({ dtype, coded, isTransposed = false }: TensorEntry): boolean {
  const source = SOURCES[dtype];
  const isNumbers = source !== undefined && storedBlock(source) === null && /^[FB]F?\d+$/.test(dtype);
  return isNumbers && !coded && !isTransposed;
}

/** A change of a tensor with the rank from which it stands in a matrix's factors. */
interface Term {
  tensor: string;
  change: WeightChange;
  rank: number;
  first: number;
}

export class BesideWeights {
  readonly #device: Device;
  /** Matrices of the page, and whether products are computed with them alone: rows of embeddings are also read. */
  readonly #matrices: ReadonlyMap<Matrix, boolean>;
  readonly #tensors: ReadonlyMap<string, TensorEntry>;
  readonly #buffers = new Map<Matrix, GPUBuffer[]>();

  /** `tensors`: those that the page reads. */
  constructor(
    device: Device,
    { requests, handles }: Pick<Collected<unknown>, 'requests' | 'handles'>,
    tensors: ReadonlyMap<string, TensorEntry>,
  ) {
    this.#device = device;
    this.#matrices = new Map(
      handles.flatMap((handle, i) => {
        if (!(handle instanceof Matrix)) return [];
        return [[handle, /^(?:linear|conv)$/.test(requests[i]!.role) && handle.kernel === 1] as const];
      }),
    );
    this.#tensors = tensors;
  }

  /**
   * Puts changes beside matrices, in place of those that they have. `names`: the tensors whose changes differ; left out: all. `unread`:
   * memory is allocated, and nothing is read. Throws bad_checkpoint and out_of_memory.
   */
  async set(
    changes: WeightChanges,
    { names, unread = false }: { names?: ReadonlySet<string>; unread?: boolean } = {},
  ): Promise<void> {
    for (const [matrix, isMultiplied] of this.#matrices) {
      const own = new Set(matrix.parts.map(({ name }) => name));
      const coded = [...own].filter(
        (name) => this.#tensors.has(name) && !takesSums(this.#tensors.get(name)!),
      );
      if (names && !coded.some((name) => names.has(name))) continue;
      this.#clear(matrix);
      const terms = termsOf(coded, changes);
      if (terms.length === 0) continue;
      if (!isMultiplied) throw notMultiplied(terms[0]!, this.#tensors.get(terms[0]!.tensor)!);
      matrix.beside = this.#allocate(matrix, terms);
      await this.#fill(matrix, matrix.beside, terms, unread);
    }
  }

  free(): void {
    for (const matrix of this.#buffers.keys()) this.#clear(matrix);
  }

  #clear(matrix: Matrix): void {
    matrix.beside = null;
    for (const buffer of this.#buffers.get(matrix) ?? []) this.#device.free(buffer);
    this.#buffers.delete(matrix);
  }

  #allocate(matrix: Matrix, terms: readonly Term[]): BesideFactors {
    const rank = terms.reduce((sum, term) => sum + term.rank, 0);
    const buffers: GPUBuffer[] = [];
    this.#buffers.set(matrix, buffers);
    const allocated = (k: number, parts: Matrix['parts']): Matrix => {
      const own = allocateMatrix(this.#device, FORMATS.f32, k, parts);
      buffers.push(...windowRegions(own).map(({ region }) => region.buffer));
      return own;
    };
    const down = allocated(matrix.k, stacked([{ name: `${matrix.name}: factors`, rows: rank }]));
    return { down, up: allocated(rank, matrix.parts) };
  }

  async #fill(
    matrix: Matrix,
    { down, up }: BesideFactors,
    terms: readonly Term[],
    unread: boolean,
  ): Promise<void> {
    const changes = terms.map(({ change }) => change);
    using factors = await Factors.read(this.#device, changes, unread);
    using lowRanks = new LowRanks(this.#device, factors);
    const made = terms.map((term) => ({
      ...term,
      ...lowRanks.make(term.change.delta, term.change.scale),
    }));
    this.#fillDown(down, up.k, made);
    for (const [at, { name }] of matrix.parts.entries()) this.#fillUp(up, at, { rank: up.k, name, made });
  }

  #fillDown(down: Matrix, rank: number, made: readonly (Term & LowRank)[]): void {
    const { k } = down;
    this.#packed(down, 0, { first: 0, rows: rank, columns: k }, (tape, y) => {
      for (const { a, first } of made) {
        const size = a.rows * k;
        const place = { firstColumn: first * k, unit: size, unitStride: size };
        widen(tape, y, place, { raw: a.region, source: 'f32', size });
      }
    });
  }

  /** Fills the rows of a part, as many at a time as a binding holds. */
  #fillUp(
    up: Matrix,
    at: number,
    { rank, name, made }: { rank: number; name: string; made: readonly (Term & LowRank)[] },
  ): void {
    const [all = 1] = this.#tensors.get(name)!.shape;
    const most = Math.max(1, Math.floor(this.#device.capabilities.bindingLimit / (4 * rank)));
    for (let above = 0; above < all; above += most) {
      const rows = Math.min(most, all - above);
      this.#packed(up, at, { first: above, rows, columns: rank }, (tape, y) => {
        for (const { b, change, tensor, rank: own, first } of made) {
          if (tensor !== name) continue;
          const place = { firstColumn: first, unit: own, unitStride: rank };
          const skip = (change.firstRow + above) * own;
          widen(tape, y, place, { raw: b.region, source: 'f32', size: rows * own, skip });
        }
      });
    }
  }

  /** Packs rows of a part, which `fill` writes into zeros. */
  #packed(
    matrix: Matrix,
    at: number,
    { first, rows, columns }: { first: number; rows: number; columns: number },
    fill: (tape: Tape, y: Tensor) => void,
  ): void {
    const region: Region = zeros(this.#device, 'adapter: rows of a factor', rows * columns);
    try {
      runOnce(this.#device, (tape) => {
        fill(tape, new Tensor([1, rows * columns], 'f32', { region }));
        const chunk = { raw: region, source: 'f32', firstRow: first, rows } as const;
        packRows(tape, matrix, matrix.parts[at]!, chunk);
      });
    } finally {
      this.#device.free(region.buffer);
    }
  }
}

function notMultiplied({ tensor, change }: Term, { dtype }: TensorEntry): EngineError {
  const message = `a LoRA changes ${change.module}, and the model stores ${tensor} as ${dtype}, beside which only factors of matrices can stand: give a model in f32, f16 or bf16`;
  return unsupported(message, 'loraPath');
}

function termsOf(names: readonly string[], changes: WeightChanges): Term[] {
  let first = 0;
  return names.flatMap((tensor) =>
    (changes.get(tensor) ?? []).map((change) => {
      const rank = rankOfDelta(change.delta)!;
      const term = { tensor, change, rank, first };
      first += rank;
      return term;
    }),
  );
}
