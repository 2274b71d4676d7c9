// The chunks in which the latents of a clip are decoded, one latent frame each, and what the layers of the decoder carry from each to the next.
// An image is one chunk.

import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { takeRows } from '../../../kernels/copy-rows.ts';
import type { CarriedFrames } from '../../../models/image/autoencoders/causal-frames.ts';
import type { Autoencoder } from '../blocks/autoencoder.ts';
import { allocateTensor } from '../recording/compute.ts';
import { Scope } from '../recording/scope.ts';

export interface Chunk {
  /** Returns its latents on a tape, [frames, height, width, channels]. */
  on(tape: Tape): Tensor;
  /** null: nothing is carried. */
  carried: CarriedFrames | null;
}

export class ClipChunks implements Disposable, Iterable<Chunk> {
  readonly #device: Device;
  readonly #latents: Tensor;
  readonly #isCarried: boolean;
  readonly #owner: Scope;
  /** The last frames of each layer. */
  readonly #kept = new Map<number, readonly Tensor[]>();

  constructor(device: Device, latents: Tensor, { framesPerLatent }: Pick<Autoencoder, 'framesPerLatent'>) {
    this.#device = device;
    this.#latents = latents;
    this.#isCarried = framesPerLatent !== undefined && latents.shape[0] !== 1;
    this.#owner = new Scope(device);
  }

  *[Symbol.iterator](): Generator<Chunk> {
    const [count, height, width] = this.#latents.shape as [number, number, number];
    if (!this.#isCarried) return yield { on: (tape) => this.#latents.on(tape), carried: null };
    for (let frame = 0; frame < count; frame++) {
      const carried = {
        continues: frame > 0,
        last: (layer: number, frames: number, like: Tensor) => this.#last(layer, frames, like),
      };
      const on = (tape: Tape): Tensor =>
        takeRows(this.#latents.on(tape), frame * height * width, [1, height, width]);
      yield { on, carried };
    }
  }

  #last(layer: number, frames: number, like: Tensor): Tensor[] {
    const kept =
      this.#kept.get(layer) ?? Array.from({ length: frames }, () => this.#zeros(like.shape as number[]));
    this.#kept.set(layer, kept);
    return kept.map((frame) => frame.on(like.tape!));
  }

  #zeros(shape: readonly number[]): Tensor {
    const tensor = this.#owner.hold(allocateTensor(this.#device, 'frames of a layer', shape));
    const encoder = this.#device.gpu.createCommandEncoder();
    encoder.clearBuffer(tensor.region!.buffer);
    this.#device.gpu.queue.submit([encoder.finish()]);
    return tensor;
  }

  [Symbol.dispose](): void {
    this.#owner[Symbol.dispose]();
  }
}
