// Deltas of LoRAs as one product of two factors, for weights that nothing is added to: LoRA's own factors, LoHa's as the products of all
// pairs of ranks, LoKr's as Kronecker products of factors.

import {
  isWhole,
  sizeOf,
  sizeOfDelta,
  type Delta,
  type Factor,
  type ProductFactor,
} from '../../files/lora/module.ts';
import type { Device } from '../../gpu/device.ts';
import type { Region } from '../../gpu/tensor.ts';
import { fillZeros, wholeOf } from '../../gpu/memory.ts';
import { loraKronecker } from '../../kernels/lora-kronecker.ts';
import { loraProduct, type FloatRows } from '../../kernels/lora-product.ts';
import { runOnce } from '../../kernels/run-once.ts';
import type { Factors } from './factors.ts';

/** The delta is b · a: f32 [rows, rank] and [rank, columns]. */
export interface LowRank {
  b: FloatRows;
  a: FloatRows;
}

/** The rank of a delta as one product; null: it is stored whole. */
export function rankOfDelta({ kind, factors }: Delta): number | null {
  if (kind === 'kronecker') return factors.reduce((rank, factor) => rank * rankOfFactor(factor), 1);
  const products = factors.filter((factor): factor is ProductFactor => !isWhole(factor));
  if (products.length < factors.length) return null;
  return products.reduce((rank, factor) => rank * rankOfFactor(factor), 1);
}

function rankOfFactor(factor: Factor): number {
  if (!isWhole(factor)) return factor.a.shape[0]!;
  const { rows, columns } = sizeOf(factor);
  return Math.min(rows, columns);
}

/** Makes the two factors of deltas on the device; disposing frees them. */
export class LowRanks implements Disposable {
  readonly #device: Device;
  readonly #factors: Factors;
  readonly #buffers: GPUBuffer[] = [];

  constructor(device: Device, factors: Factors) {
    this.#device = device;
    this.#factors = factors;
  }

  /** `scale` is taken into the factor a. */
  make(delta: Delta, scale: number): LowRank {
    const { kind, factors } = delta;
    const rank = rankOfDelta(delta)!;
    const { rows, columns } = sizeOfDelta(delta);
    const [one, two] = factors;
    const all = scale * delta.scale;
    if (kind === 'sum') {
      const { b, a } = this.#pair(one!);
      const scaled = this.#zeros(rank, columns);
      runOnce(this.#device, (tape) => loraKronecker(tape, scaled, this.#factors.one, a, { scale: all }));
      return { b, a: scaled };
    }
    const made = { b: this.#zeros(rows, rank), a: this.#zeros(rank, columns) };
    if (kind === 'kronecker') {
      const [left, right] = [this.#pair(one!), this.#pair(two!)];
      runOnce(this.#device, (tape) => {
        loraKronecker(tape, made.b, left.b, right.b, { scale: 1 });
        loraKronecker(tape, made.a, left.a, right.a, { scale: all });
      });
      return made;
    }
    this.#pairs([one, two] as [ProductFactor, ProductFactor], made, all);
    return made;
  }

  [Symbol.dispose](): void {
    for (const buffer of this.#buffers.splice(0)) this.#device.free(buffer);
  }

  /** (b₁ · a₁) ⊙ (b₂ · a₂): a row of `a` for each pair of ranks is the product of both rows, and so is a column of `b`. */
  #pairs(factors: readonly [ProductFactor, ProductFactor], { b, a }: LowRank, scale: number): void {
    const ranks = factors.map((factor) => factor.a.shape[0]!);
    const pairs = b.columns;
    factors.forEach((factor, side) => {
      const rank = ranks[side]!;
      const of = (pair: number): number => (side === 0 ? Math.floor(pair / ranks[1]!) : pair % ranks[1]!);
      const chosen = this.#filled(pairs, rank, (pair, i) => of(pair) === i);
      const transposed = this.#filled(rank, pairs, (i, pair) => of(pair) === i);
      const product = this.#factors.product(factor);
      const op = side === 0 ? 'set' : 'multiply';
      runOnce(this.#device, (tape) => {
        loraProduct(
          tape,
          a,
          { b: leftOf(chosen), a: product.a, rank },
          { op, scale: side === 0 ? scale : 1 },
        );
        loraProduct(tape, b, { b: product.b, a: transposed.region, rank }, { op });
      });
    });
  }

  /** A factor as a product; a whole one has an identity at its smaller side. */
  #pair(factor: Factor): LowRank {
    const { rows, columns } = sizeOf(factor);
    if (isWhole(factor)) {
      const whole = this.#factors.matrix(factor);
      const one = this.#filled(Math.min(rows, columns), Math.min(rows, columns), (i, j) => i === j);
      return rows <= columns ? { b: one, a: whole } : { b: whole, a: one };
    }
    const { b, a, rank } = this.#factors.product(factor);
    const right = { region: a, rows: rank, columns };
    if (!factor.isTransposed) return { b: { region: b.region, rows, columns: rank }, a: right };
    const turned = this.#zeros(rows, rank);
    const one = this.#filled(rank, rank, (i, j) => i === j);
    runOnce(this.#device, (tape) => loraProduct(tape, turned, { b, a: one.region, rank }, { op: 'set' }));
    return { b: turned, a: right };
  }

  #filled(rows: number, columns: number, isOne: (row: number, column: number) => boolean): FloatRows {
    const made = this.#zeros(rows, columns);
    const values = Float32Array.from({ length: rows * columns }, (_, i) =>
      Number(isOne(Math.floor(i / columns), i % columns)),
    );
    this.#device.gpu.queue.writeBuffer(made.region.buffer, 0, values);
    return made;
  }

  #zeros(rows: number, columns: number): FloatRows {
    const region = zeros(this.#device, 'adapter: a factor', rows * columns);
    this.#buffers.push(region.buffer);
    return { region, rows, columns };
  }
}

const leftOf = ({ region, columns }: FloatRows) => ({ region, row: columns, rank: 1, taps: 1 });

/** A buffer of this many values that are zero. */
export function zeros(device: Device, label: string, values: number): Region {
  const region = wholeOf(device.allocate('step', label, 4 * values));
  fillZeros(device, [region]);
  return region;
}
