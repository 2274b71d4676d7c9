// What a computation holds on the device, given back at once: when it is over, or where something fails on the way.

import type { Device } from '../../gpu/device.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { freeTensors } from './compute.ts';

export interface Held {
  /** A tensor with bytes of its own. */
  hold<T extends Tensor>(tensor: T): T;
  /** What else is to be done at the end. */
  later(free: () => void): void;
  free(): void;
}

export function createHeld(device: Device): Held {
  const frees: (() => void)[] = [];
  return {
    hold(tensor) {
      frees.push(() => freeTensors(device, [tensor]));
      return tensor;
    },
    later: (free) => void frees.push(free),
    free: () => frees.splice(0).forEach((free) => free()),
  };
}

/** What `run` makes; where it fails, what it held is given back. */
export async function orFree<T>(device: Device, run: (held: Held) => Promise<T>): Promise<T> {
  const held = createHeld(device);
  try {
    return await run(held);
  } catch (error) {
    held.free();
    throw error;
  }
}
