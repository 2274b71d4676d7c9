// The encoder on a device: a tape for whole windows, and one for the last other length of a window, where a class takes several.

import { wholeOf } from '../../gpu/memory.ts';
import type { Device } from '../../gpu/device.ts';
import { Tape } from '../../gpu/tape.ts';
import { Tensor, tensorBytes } from '../../gpu/tensor.ts';

interface Recorded {
  frames: number;
  tape: Tape;
  features: Tensor;
}

export class WindowEncoder {
  readonly #device: Device;
  readonly #columns: number;
  readonly #hear: (features: Tensor) => void;
  /** The first is of whole windows. */
  readonly #recorded: Recorded[];

  /** `hear` records what is computed of features, [1, frames, columns]. */
  constructor(
    device: Device,
    { frames, columns }: { frames: number; columns: number },
    hear: (features: Tensor) => void,
  ) {
    this.#device = device;
    this.#columns = columns;
    this.#hear = hear;
    this.#recorded = [this.#record(frames)];
  }

  #record(frames: number): Recorded {
    const shape = [1, frames, this.#columns];
    const buffer = this.#device.allocate('step', 'features of a window', tensorBytes(shape, {}));
    const features = new Tensor(shape, 'f32', { region: wholeOf(buffer) });
    const tape = new Tape(this.#device, {});
    this.#hear(features.on(tape));
    tape.finish();
    return { frames, tape, features };
  }

  #of(frames: number): Recorded {
    const known = this.#recorded.find((one) => one.frames === frames);
    if (known) return known;
    for (const { tape, features } of this.#recorded.splice(1)) {
      tape.destroy();
      features.region!.buffer.destroy();
    }
    const made = this.#record(frames);
    this.#recorded.push(made);
    return made;
  }

  /** Submits the encoder over a window; values [frames, columns] */
  run(values: Float32Array<ArrayBuffer>): void {
    const frames = values.length / this.#columns;
    const { tape, features } = this.#of(frames);
    const { region, columns, stride } = features;
    let stored = values;
    if (columns !== stride) {
      stored = new Float32Array(frames * stride);
      for (let row = 0; row < frames; row++)
        stored.set(values.subarray(row * columns, (row + 1) * columns), row * stride);
    }
    this.#device.gpu.queue.writeBuffer(region!.buffer, 0, stored);
    tape.run({}, { submitEvery: 1 });
  }
}
