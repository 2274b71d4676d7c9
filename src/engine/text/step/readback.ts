// Reads tokens and other requested values back from the device through rings of staging buffers, so that a step can be submitted
// while the one before it is still being read.

import type { Device } from '../../../gpu/device.ts';
import type { Region } from '../../../gpu/tensor.ts';

const MAP_READ = 0x1;
const COPY_DST = 0x8;

export class Readback {
  readonly #device: Device;
  readonly #regions: readonly (Region | undefined)[];
  /** Free staging buffers by size. */
  readonly #free = new Map<number, GPUBuffer[]>();

  constructor(device: Device, regions: readonly (Region | undefined)[]) {
    this.#device = device;
    this.#regions = regions;
  }

  /**
   * Adds the copies of so many bytes of the regions, in order, to a command buffer; a region of 0 bytes is skipped. The returned function
   * must be called once the command buffer is submitted.
   */
  copy(encoder: GPUCommandEncoder, sizes: readonly number[]): () => Promise<Uint32Array[]> {
    const { queue } = this.#device.gpu;
    const regions = this.#regions;
    const bytes = regions.reduce((sum, region, i) => sum + (sizes[i]! > 0 ? (region?.size ?? 0) : 0), 0);
    if (bytes === 0) {
      return async () => {
        await queue.onSubmittedWorkDone();
        return regions.map(() => new Uint32Array(0));
      };
    }
    const ring = this.#free.get(bytes) ?? [];
    this.#free.set(bytes, ring);
    const staging = ring.pop() ?? this.#device.gpu.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST });
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
  }
}
