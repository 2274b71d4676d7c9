// Moves KV pages: from one page to another, from host memory into a page, and back. In host memory a page is one array of bytes, the
// keys and values of one lane after the other.

import type { Device } from '../../../gpu/device.ts';
import type { PageBuffer } from './layer-stores.ts';
import { readStaged, type StateMove } from './state-mover.ts';

/** Copies and writes of pages and fixed states that the device does before the next step. */
export interface PageMoves {
  copies: { from: number; to: number }[];
  loads: { page: number; bytes: Uint8Array }[];
  /** Copies of fixed states, in order. */
  states: StateMove[];
}

/** Keys, or values, of one lane. */
interface PagePart extends PageBuffer {
  /** Offset in a page in host memory. */
  first: number;
}

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

  /** Sets the buffers to work on. */
  use(buffers: readonly PageBuffer[]): void {
    let first = 0;
    this.#parts = buffers.map(({ buffer, bytes }) => {
      const part = { buffer, bytes, first };
      first += bytes;
      return part;
    });
  }

  /** Makes the copies in order, then the writes; steps that are submitted later find both done. */
  move({ copies, loads }: Pick<PageMoves, 'copies' | 'loads'>): void {
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
  read(pages: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]> {
    const { bytes } = this;
    return readStaged(this.#device, { count: pages.length, bytes }, (encoder, item, to, offset) =>
      this.#copyOut(encoder, pages[item]!, to, offset),
    );
  }

  #copyOut(encoder: GPUCommandEncoder, page: number, to: GPUBuffer, offset: number): void {
    for (const { buffer, bytes, first } of this.#parts)
      encoder.copyBufferToBuffer(buffer, page * bytes, to, offset + first, bytes);
  }
}
