// Tokens back from the device, through a ring of staging buffers, so that a step can be submitted while the one before it
// is still being read.

import type { Device } from '../../gpu/device.ts';

export interface Readback {
  /** A free staging buffer, to be copied into. */
  next(): GPUBuffer;
  /** The first `count` words once the copy is through; the buffer is free again then. */
  read(staging: GPUBuffer, count: number): Promise<Uint32Array>;
}

const MAP_READ = 0x1;
const COPY_DST = 0x8;

export function createReadback(device: Device, words: number): Readback {
  const free: GPUBuffer[] = [];
  return {
    next: () => free.pop() ?? device.gpu.createBuffer({ size: words * 4, usage: MAP_READ | COPY_DST }),
    async read(staging, count) {
      if (count === 0) {
        await device.gpu.queue.onSubmittedWorkDone();
        free.push(staging);
        return new Uint32Array(0);
      }
      await staging.mapAsync(MAP_READ);
      const ids = new Uint32Array(staging.getMappedRange(0, count * 4).slice(0));
      staging.unmap();
      free.push(staging);
      return ids;
    },
  };
}
