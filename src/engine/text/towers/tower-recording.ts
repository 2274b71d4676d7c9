// The recorded tape of a tower for media of one layout, with the memory of its inputs. Its intermediates have an arena of their own, so that
// steps may run between its segments.

import { wholeOf } from '../../../gpu/memory.ts';
import type { Arena } from '../../../gpu/arena.ts';
import type { Device } from '../../../gpu/device.ts';
import { Tape } from '../../../gpu/tape.ts';
import { Tensor, tensorBytes } from '../../../gpu/tensor.ts';
import type { PreparedMedium, Tower } from '../../../models/media.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import { compileTape } from '../../tuning/compile.ts';
import type { MediaRows } from './row-cache.ts';

/** Media with equal ones have equal tapes. */
export function recordingKey({ tower, inputs, layout }: PreparedMedium, plain = false): string {
  const shapes = Object.entries(inputs).map(([name, { shape }]) => [name, shape]);
  return JSON.stringify([tower, shapes, layout, plain]);
}

export class TowerRecording {
  readonly key: string;
  readonly #device: Device;
  readonly #tape: Tape;
  readonly #inputs = new Map<string, Tensor>();
  /** Rows for the language model, then those of deep layers. */
  readonly #results: readonly Tensor[];
  /** A word that is raised by values that are not finite, and a constant. */
  readonly #checks: Tensor[] = [];

  /** Throws out_of_memory. */
  constructor(
    device: Device,
    arena: Arena,
    tower: Tower,
    prepared: PreparedMedium,
    { plain = false }: { plain?: boolean } = {},
  ) {
    this.#device = device;
    this.key = recordingKey(prepared, plain);
    const tape = (this.#tape = new Tape(device, {}, { arena, plain }));
    try {
      for (const [name, { shape, data }] of Object.entries(prepared.inputs)) {
        const dtype = data instanceof Float32Array ? 'f32' : 'u32';
        const buffer = device.allocate('step', `${name} of a medium`, tensorBytes(shape, {}));
        const region = wholeOf(buffer);
        this.#inputs.set(name, new Tensor(shape, dtype, { region }));
      }
      const onTape = [...this.#inputs].map(([name, tensor]) => [name, tensor.on(tape)] as const);
      const flag = device.tensor('step', 'finite check', [1], new Uint32Array(1));
      const one = device.tensor('step', 'one', [1], Float32Array.of(1));
      this.#checks.push(flag, one);
      this.#results = tower(Object.fromEntries(onTape), prepared.layout).map((result) =>
        tape.keep(linearCombination([result], one.region!, flag.region!)),
      );
      tape.finish();
    } catch (error) {
      this.free();
      throw error;
    }
  }

  /** Compiles its kernels; an error thrown by `onKernel`, which is called before each, ends it. */
  compile(onKernel: () => void): Promise<void> {
    return compileTape(this.#device, this.#tape, onKernel);
  }

  /** Columns of the rows. */
  get columns(): number {
    return this.#results[0]!.columns;
  }

  /** Bytes of the rows of one block, and the number of blocks. */
  get sizes(): { blocks: number; blockBytes: number } {
    return { blocks: this.#results.length, blockBytes: this.#results[0]!.bytes({}) };
  }

  /** Writes the values of a medium's inputs, with zeros as padding. */
  write({ inputs }: PreparedMedium): void {
    this.#device.gpu.queue.writeBuffer(this.#checks[0]!.region!.buffer, 0, new Uint32Array(1));
    for (const [name, { data }] of Object.entries(inputs)) {
      const { region, columns, stride } = this.#inputs.get(name)!;
      const { queue } = this.#device.gpu;
      if (columns === stride) {
        queue.writeBuffer(region!.buffer, 0, data);
        continue;
      }
      const padded = new Uint32Array((data.length / columns) * stride);
      const bits = new Uint32Array(data.buffer, data.byteOffset, data.length);
      for (let row = 0; row * columns < bits.length; row++)
        padded.set(bits.subarray(row * columns, (row + 1) * columns), row * stride);
      queue.writeBuffer(region!.buffer, 0, padded);
    }
  }

  /** Submits segment by segment, and the copies of the results with the last one. A promise is to be waited for. */
  submits(segments: number, { blocks }: MediaRows): Generator<Promise<void> | null, void, void> {
    const last = (encoder: GPUCommandEncoder): void => {
      for (const [i, result] of this.#results.entries()) {
        const { buffer, offset } = this.#tape.region(result);
        const target = blocks[i]!;
        encoder.copyBufferToBuffer(buffer, offset, target.buffer, target.offset, target.size);
      }
    };
    return this.#tape.submits({}, { submitEvery: segments, last });
  }

  /** Whether all rows of the last run are finite; f16 inside of kernels overflows at 65504. */
  async isFinite(): Promise<boolean> {
    const [raised] = new Uint32Array(await this.#device.read(this.#checks[0]!.region!));
    return raised === 0;
  }

  free(): void {
    this.#tape.destroy();
    for (const tensor of [...this.#inputs.values(), ...this.#checks])
      this.#device.free(tensor.region!.buffer);
  }
}
