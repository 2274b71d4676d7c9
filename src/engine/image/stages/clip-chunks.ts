// The chunks in which the latents of a clip are decoded, one latent frame each, and what the layers of the decoder carry from each to the next.
// An image is one chunk.

import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { takeRows } from '../../../kernels/copy-rows.ts';
import type { CarriedFrames } from '../../../models/image/autoencoders/causal-frames.ts';
import type { Autoencoder } from '../blocks/autoencoder.ts';
import { CarriedLayers } from './carried-layers.ts';

export interface Chunk {
  /** Returns its latents on a tape, [frames, height, width, channels]. */
  on(tape: Tape): Tensor;
  /** null: nothing is carried. */
  carried: CarriedFrames | null;
}

export class ClipChunks implements Disposable, Iterable<Chunk> {
  readonly #latents: Tensor;
  readonly #isCarried: boolean;
  readonly #layers: CarriedLayers;

  constructor(device: Device, latents: Tensor, { framesPerLatent }: Pick<Autoencoder, 'framesPerLatent'>) {
    this.#latents = latents;
    this.#isCarried = framesPerLatent !== undefined && latents.shape[0] !== 1;
    this.#layers = new CarriedLayers(device);
  }

  *[Symbol.iterator](): Generator<Chunk> {
    const [count, height, width] = this.#latents.shape as [number, number, number];
    if (!this.#isCarried) return yield { on: (tape) => this.#latents.on(tape), carried: null };
    for (let frame = 0; frame < count; frame++) {
      const on = (tape: Tape): Tensor =>
        takeRows(this.#latents.on(tape), frame * height * width, [1, height, width]);
      yield { on, carried: this.#layers.carried(frame > 0) };
    }
  }

  [Symbol.dispose](): void {
    this.#layers[Symbol.dispose]();
  }
}
