// Numbers that change from step to step, in a small buffer that kernels read by index.

import type { Device } from '../../../gpu/device.ts';
import type { Region } from '../../../gpu/tensor.ts';

export interface Scalars extends Disposable {
  readonly region: Region;
  /** Writes the numbers of the next run, from index 0 on. */
  write(values: readonly number[]): void;
}

export function createScalars(device: Device, label: string, count: number): Scalars {
  const buffer = device.allocate('step', label, 4 * count);
  return {
    region: { buffer, offset: 0, size: buffer.size },
    write: (values) => device.gpu.queue.writeBuffer(buffer, 0, Float32Array.from(values)),
    [Symbol.dispose]: () => device.free(buffer),
  };
}
