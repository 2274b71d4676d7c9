// Numbers that kernels read and no checkpoint has, such as tables of positions. Each is written once a device.

import type { Device } from '../gpu/device.ts';
import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';

const made = new WeakMap<Device, Map<string, Tensor>>();

/** A table [rows, columns] for the kernels of a tape; `key` tells all that `values` depend on. */
export function constant(
  tape: Tape,
  key: string,
  shape: [rows: number, columns: number],
  values: () => Float32Array | Uint32Array,
): Tensor {
  const { device } = tape;
  let tensors = made.get(device);
  if (!tensors) made.set(device, (tensors = new Map()));
  const name = `${key} [${shape.join(', ')}]`;
  let tensor = tensors.get(name);
  if (!tensor) tensors.set(name, (tensor = device.tensor('step', key, shape, values())));
  return tensor.on(tape);
}

/** The same for the kernels of the tape that computes x. */
export const constantBeside = (
  x: Tensor,
  key: string,
  shape: [rows: number, columns: number],
  values: () => Float32Array | Uint32Array,
): Tensor => constant(tapeOf(x), key, shape, values);
