// What the layers of an autoencoder keep of a clip from one chunk of its frames to the next.

import type { Device } from '../../../gpu/device.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import type { CarriedFrames } from '../../../models/image/autoencoders/causal-frames.ts';
import { allocateTensor } from '../recording/compute.ts';
import { Scope } from '../recording/scope.ts';

export class CarriedLayers implements Disposable {
  readonly #device: Device;
  readonly #owner: Scope;
  /** The last frames of each layer. */
  readonly #kept = new Map<number, readonly Tensor[]>();

  constructor(device: Device) {
    this.#device = device;
    this.#owner = new Scope(device);
  }

  /** What a chunk shares with others; `continues`: whether one came before. */
  carried(continues: boolean): CarriedFrames {
    return { continues, last: (layer, frames, like) => this.#last(layer, frames, like) };
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
