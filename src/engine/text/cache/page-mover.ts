// Moves KV pages: from one page to another, from host memory into a page, and back. In host memory a page is one array of bytes, the
// keys and values of one lane after the other.

import type { Device } from '../../../gpu/device.ts';
import type { PageMoves } from './sequence-pages.ts';

/** Keys, or values, of one lane. */
interface PagePart {
  buffer: GPUBuffer;
  /** Bytes of one page. */
  bytes: number;
  /** Offset in a page in host memory. */
  first: number;
}

const MAP_READ = 0x1;
const COPY_DST = 0x8;

export class PageMover {
  /** Bytes of a page, keys and values of all lanes. */
  readonly bytes: number;
  readonly #device: Device;
  /** Holds a page that is copied: a buffer cannot be copied into itself. */
  readonly #between: GPUBuffer;
  #parts: PagePart[] = [];

  constructor(device: Device, bytes: number) {
    this.bytes = bytes;
    this.#device = device;
    this.#between = device.allocate('kv', 'a page on its way', bytes);
  }

  /** Sets the buffers to work on, of `pages` pages each. */
  use(buffers: readonly GPUBuffer[], pages: number): void {
    let first = 0;
    this.#parts = buffers.map((buffer) => {
      const part = { buffer, bytes: buffer.size / pages, first };
      first += part.bytes;
      return part;
    });
  }

  /** Makes the copies in order, then the writes; steps that are submitted later find both done. */
  move({ copies, loads }: PageMoves): void {
    const { queue } = this.#device.gpu;
    if (copies.length > 0) {
      const encoder = this.#device.gpu.createCommandEncoder();
      for (const { from, to } of copies) {
        this.#copyOut(encoder, from, this.#between, 0);
        for (const { buffer, bytes, first } of this.#parts)
          encoder.copyBufferToBuffer(this.#between, first, buffer, to * bytes, bytes);
      }
      queue.submit([encoder.finish()]);
    }
    for (const { page, bytes: source } of loads)
      for (const { buffer, bytes, first } of this.#parts)
        queue.writeBuffer(buffer, page * bytes, source, first, bytes);
  }

  /** Reads pages as they are after the steps submitted so far. Rejects if the device is lost, or has no room for the copy. */
  async read(pages: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]> {
    const { gpu } = this.#device;
    // A staging buffer for which there is no room must not end the steps: its errors are caught in scopes of their own.
    gpu.pushErrorScope('validation');
    gpu.pushErrorScope('out-of-memory');
    const staging = gpu.createBuffer({ size: pages.length * this.bytes, usage: MAP_READ | COPY_DST });
    try {
      const encoder = gpu.createCommandEncoder();
      pages.forEach((page, i) => this.#copyOut(encoder, page, staging, i * this.bytes));
      gpu.queue.submit([encoder.finish()]);
      const mapped = staging.mapAsync(MAP_READ);
      const scopes = [gpu.popErrorScope(), gpu.popErrorScope()];
      const [, ...errors] = await Promise.all([mapped, ...scopes]);
      const error = errors.find((found) => found !== null);
      if (error) throw new Error(`pages could not be copied out: ${error.message}`);
      const copied = staging.getMappedRange();
      return pages.map((_, i) => new Uint8Array(copied.slice(i * this.bytes, (i + 1) * this.bytes)));
    } finally {
      staging.destroy();
    }
  }

  #copyOut(encoder: GPUCommandEncoder, page: number, to: GPUBuffer, offset: number): void {
    for (const { buffer, bytes, first } of this.#parts)
      encoder.copyBufferToBuffer(buffer, page * bytes, to, offset + first, bytes);
  }
}
