// Copies of packed weights in host memory, from which they come back to the device.

import type { Device } from '../../gpu/device.ts';
import { fillHost, readPieces } from '../../gpu/host-memory.ts';
import type { PackedRegion } from './place.ts';

export class HostCopies {
  readonly #device: Device;
  readonly #buffers = new Map<string, GPUBuffer>();

  constructor(device: Device) {
    this.#device = device;
  }

  /** Copies regions of the device to host memory, if their bytes are read. */
  async keep(regions: readonly PackedRegion[], isRead: boolean): Promise<void> {
    for (const { name, region } of regions) {
      const buffer = this.#device.allocateHost(name, region.size);
      this.#buffers.set(name, buffer);
      if (isRead) await fillHost(buffer, readPieces(this.#device, region));
    }
  }

  /** Copies the bytes of these regions back to the device. */
  restore(regions: readonly PackedRegion[]): void {
    const encoder = this.#device.gpu.createCommandEncoder();
    for (const { name, region } of regions)
      encoder.copyBufferToBuffer(this.#buffers.get(name)!, 0, region.buffer, region.offset, region.size);
    this.#device.gpu.queue.submit([encoder.finish()]);
  }

  free(): void {
    for (const buffer of this.#buffers.values()) this.#device.free(buffer);
    this.#buffers.clear();
  }
}
