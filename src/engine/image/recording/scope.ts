// Tensors and other resources that a computation holds on the device. A scope is declared by `using`: it frees everything when its
// block ends, also after an error, unless its contents were moved to an owner.

import { wholeOf } from '../../../gpu/memory.ts';
import type { Device } from '../../../gpu/device.ts';
import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { freeTensors } from './compute.ts';

export class Scope implements Disposable {
  readonly #device: Device;
  #releases: (() => void)[] = [];

  constructor(device: Device) {
    this.#device = device;
  }

  /** Takes ownership of a tensor with a buffer of its own. */
  hold<T extends Tensor>(tensor: T): T {
    this.#releases.push(() => freeTensors(this.#device, [tensor]));
    return tensor;
  }

  /** Takes ownership of any other disposable. */
  use<T extends Disposable>(resource: T): T {
    this.#releases.push(() => resource[Symbol.dispose]());
    return resource;
  }

  /** Moves all resources of this scope to another, for the owner of a result that needs them. */
  move(): Scope {
    const moved = new Scope(this.#device);
    moved.#releases = this.#releases.splice(0);
    return moved;
  }

  /** Returns a result that needs the resources of this scope and owns them: they are freed when it is disposed. */
  give<T extends object>(result: T): T & Disposable {
    const owner = this.move();
    return { ...result, [Symbol.dispose]: () => owner[Symbol.dispose]() };
  }

  /** Gives all resources up to the caller of the function that made them, who frees them one by one. */
  release(): void {
    this.#releases.length = 0;
  }

  /** Frees the latest resource first, because it may use earlier ones. */
  [Symbol.dispose](): void {
    for (const release of this.#releases.splice(0).toReversed()) release();
  }
}

/** Numbers that change from step to step, in a small buffer that kernels read by index. */
export interface Scalars extends Disposable {
  readonly region: Region;
  /** Writes the numbers of the next run, from index 0 on. */
  write(values: readonly number[]): void;
}

export function createScalars(device: Device, label: string, count: number): Scalars {
  const buffer = device.allocate('step', label, 4 * count);
  return {
    region: wholeOf(buffer),
    write: (values) => device.gpu.queue.writeBuffer(buffer, 0, Float32Array.from(values)),
    [Symbol.dispose]: () => device.free(buffer),
  };
}
