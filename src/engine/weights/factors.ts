// Factors of LoRAs on the device as f32, for as long as the weights are packed that they change.

import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import { elements, isWhole, sizeOf, type Factor, type ProductFactor } from '../../files/lora/module.ts';
import { wholeOf } from '../../gpu/memory.ts';
import type { Device } from '../../gpu/device.ts';
import type { Tape } from '../../gpu/tape.ts';
import { Tensor, type Region } from '../../gpu/tensor.ts';
import { loraProduct, type FloatRows, type LeftFactor } from '../../kernels/lora-product.ts';
import { runOnce } from '../../kernels/run-once.ts';
import { widen } from '../../kernels/widen.ts';
import { entriesOfChange, type WeightChange } from './change.ts';
import { rehearseUpload, uploadAll, type UploadedChunk, type Wanted } from './upload.ts';

/** The two matrices of a product, with those of Tucker's form multiplied. */
export interface Product {
  b: LeftFactor;
  a: Region;
  rank: number;
}

/** f32 values of a chunk, one after another from the buffer's start. */
export function widenChunk(
  tape: Tape,
  region: Region,
  { raw, source }: Pick<UploadedChunk, 'raw' | 'source'>,
  size: number,
  first = 0,
): void {
  const y = new Tensor([1, region.size / 4], 'f32', { region });
  widen(tape, y, { firstColumn: first, unit: size, unitStride: size }, { raw, source: source!, size });
}

export class Factors implements Disposable {
  /** The value 1, which makes a Kronecker product of any matrix. */
  readonly one: FloatRows;
  readonly #device: Device;
  readonly #buffers: GPUBuffer[] = [];
  readonly #entries = new Map<TensorEntry, Region>();
  readonly #products = new Map<Factor, Product>();
  readonly #matrices = new Map<Factor, FloatRows>();

  private constructor(device: Device) {
    this.#device = device;
    const region = this.#allocate('one', 1);
    device.gpu.queue.writeBuffer(region.buffer, 0, Float32Array.of(1));
    this.one = { region, rows: 1, columns: 1 };
  }

  /** Reads the factors of changes; `unread`: allocates them only. Throws bad_checkpoint, out_of_memory and the errors of reading. */
  static async read(device: Device, changes: readonly WeightChange[], unread = false): Promise<Factors> {
    const factors = new Factors(device);
    try {
      const entries = [...new Set(changes.flatMap(entriesOfChange))];
      const wanted = entries.map((entry) => factors.#upload(entry));
      if (unread) rehearseUpload(device, wanted);
      else await uploadAll(device, wanted, () => {});
      return factors;
    } catch (error) {
      factors[Symbol.dispose]();
      throw error;
    }
  }

  /** Values of a tensor of the file. */
  values(entry: TensorEntry): Region {
    return this.#entries.get(entry)!;
  }

  product(factor: ProductFactor): Product {
    const known = this.#products.get(factor);
    if (known) return known;
    const { a, b, mid, isTransposed } = factor;
    const [rank] = a.shape as [number];
    const { rows } = sizeOf(factor);
    const left = {
      region: this.values(b),
      taps: 1,
      ...(isTransposed ? { row: 1, rank: rows } : { row: rank, rank: 1 }),
    };
    const made = { b: left, a: mid ? this.#core(factor, mid, rank) : this.values(a), rank };
    this.#products.set(factor, made);
    return made;
  }

  /** A factor as a matrix; products are multiplied. */
  matrix(factor: Factor): FloatRows {
    const known = this.#matrices.get(factor);
    if (known) return known;
    const { rows, columns } = sizeOf(factor);
    const region = isWhole(factor) ? this.values(factor.whole) : this.#allocate('factor', rows * columns);
    const made = { region, rows, columns };
    if (!isWhole(factor))
      runOnce(this.#device, (tape) => loraProduct(tape, made, this.product(factor), { op: 'set' }));
    this.#matrices.set(factor, made);
    return made;
  }

  [Symbol.dispose](): void {
    for (const buffer of this.#buffers.splice(0)) this.#device.free(buffer);
  }

  /** Tucker's core [rank, rank, taps] times the matrix [rank, columns] of the inputs: [rank, columns · taps]. */
  #core({ a }: ProductFactor, mid: TensorEntry, rank: number): Region {
    const taps = elements(mid.shape.slice(2));
    const columns = elements(a.shape.slice(1)) * taps;
    const region = this.#allocate('core', rank * columns);
    const b = { region: this.values(mid), row: rank * taps, rank: taps, taps };
    const y = { region, rows: rank, columns };
    runOnce(this.#device, (tape) => loraProduct(tape, y, { b, a: this.values(a), rank }, { op: 'set' }));
    return region;
  }

  #upload(entry: TensorEntry): Wanted {
    const size = elements(entry.shape);
    const region = this.#allocate(entry.name, size);
    this.#entries.set(entry, region);
    return {
      entry,
      place(tape, chunk) {
        const { values, rows, firstRow } = chunk;
        widenChunk(tape, region, chunk, values, firstRow * (values / rows));
      },
    };
  }

  #allocate(label: string, values: number): Region {
    const buffer = this.#device.allocate('step', `adapter: ${label}`, 4 * values);
    this.#buffers.push(buffer);
    return wholeOf(buffer);
  }
}
