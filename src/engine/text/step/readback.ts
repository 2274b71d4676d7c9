// Reads tokens and other requested values back from the device through rings of staging buffers, so that a step can be submitted
// while the one before it is still being read.

import type { Device } from '../../../gpu/device.ts';
import type { Region } from '../../../gpu/tensor.ts';

export interface Readback {
  /** Adds the copies to a command buffer. The returned function must be called once the command buffer is submitted. */
  copy(encoder: GPUCommandEncoder, sizes: readonly number[]): () => Promise<Uint32Array[]>;
}

const MAP_READ = 0x1;
const COPY_DST = 0x8;

/** `sizes` of a copy are the bytes of these regions, in order; a region of 0 bytes is skipped. */
export function createReadback(device: Device, regions: readonly (Region | undefined)[]): Readback {
  const free = new Map<number, GPUBuffer[]>();
  return {
    copy(encoder, sizes) {
      const bytes = regions.reduce((sum, region, i) => sum + (sizes[i]! > 0 ? (region?.size ?? 0) : 0), 0);
      if (bytes === 0) {
        return async () => {
          await device.gpu.queue.onSubmittedWorkDone();
          return regions.map(() => new Uint32Array(0));
        };
      }
      const ring = free.get(bytes) ?? [];
      free.set(bytes, ring);
      const staging = ring.pop() ?? device.gpu.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST });
      let end = 0;
      const places = regions.map((region, i) => {
        const size = region ? sizes[i]! : 0;
        if (region && size > 0) encoder.copyBufferToBuffer(region.buffer, region.offset, staging, end, size);
        end += size;
        return { from: end - size, to: end };
      });
      return async () => {
        await staging.mapAsync(MAP_READ);
        const copied = staging.getMappedRange(0, end).slice(0);
        staging.unmap();
        ring.push(staging);
        return places.map(({ from, to }) => new Uint32Array(copied.slice(from, to)));
      };
    },
  };
}
