// KV pages on the move: from one page to another, from outside the device into a page, and out again. Outside, a page is
// its keys and values layer by layer, in one piece.

import type { Device } from '../../../gpu/device.ts';
import type { KvPages } from '../../../kernels/batch.ts';
import type { PageMoves } from './sequence-pages.ts';

export interface PageMover {
  /** Bytes of a page in all layers. */
  readonly bytes: number;
  /** The buffers it works on, of so many pages each. */
  use(kv: readonly KvPages[], pages: number): void;
  /** Copies one after the other, then writes; both come before all steps submitted later. */
  move(moves: PageMoves): void;
  /** Rejects where the device is lost meanwhile, or has no room for the copy. */
  read(pages: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]>;
}

/** Keys, or values, of one layer. */
interface PagePart {
  buffer: GPUBuffer;
  /** Of one page. */
  bytes: number;
  /** Where it lies in a page outside the device. */
  first: number;
}

const MAP_READ = 0x1;
const COPY_DST = 0x8;

/** `whole`: bytes of a page, keys and values of all layers. */
export function createPageMover(device: Device, whole: number): PageMover {
  // A buffer cannot be copied into itself.
  const between = device.allocate('kv', 'a page on its way', whole);
  const { queue } = device.gpu;
  let parts: PagePart[] = [];

  const copyOut = (encoder: GPUCommandEncoder, page: number, to: GPUBuffer, offset: number): void =>
    parts.forEach(({ buffer, bytes, first }) =>
      encoder.copyBufferToBuffer(buffer, page * bytes, to, offset + first, bytes),
    );

  return {
    bytes: whole,
    use(kv, pages) {
      let first = 0;
      parts = kv
        .flatMap(({ keys, values }) => [keys.buffer, values.buffer])
        .map((buffer) => {
          const part = { buffer, bytes: buffer.size / pages, first };
          first += part.bytes;
          return part;
        });
    },
    move({ copies, loads }) {
      if (copies.length > 0) {
        const encoder = device.gpu.createCommandEncoder();
        for (const { from, to } of copies) {
          copyOut(encoder, from, between, 0);
          parts.forEach(({ buffer, bytes, first }) =>
            encoder.copyBufferToBuffer(between, first, buffer, to * bytes, bytes),
          );
        }
        queue.submit([encoder.finish()]);
      }
      for (const { page, bytes: source } of loads) {
        parts.forEach(({ buffer, bytes, first }) =>
          queue.writeBuffer(buffer, page * bytes, source, first, bytes),
        );
      }
    },
    async read(pages) {
      // A staging buffer that finds no room must not end the steps: it is an error of its own, as is what is done with it.
      device.gpu.pushErrorScope('validation');
      device.gpu.pushErrorScope('out-of-memory');
      const staging = device.gpu.createBuffer({ size: pages.length * whole, usage: MAP_READ | COPY_DST });
      try {
        const encoder = device.gpu.createCommandEncoder();
        pages.forEach((page, i) => copyOut(encoder, page, staging, i * whole));
        queue.submit([encoder.finish()]);
        const mapped = staging.mapAsync(MAP_READ);
        const scopes = [device.gpu.popErrorScope(), device.gpu.popErrorScope()];
        const [, ...errors] = await Promise.all([mapped, ...scopes]);
        const error = errors.find((found) => found !== null);
        if (error) throw new Error(`pages could not be copied out: ${error.message}`);
        const copied = staging.getMappedRange();
        return pages.map((_, i) => new Uint8Array(copied.slice(i * whole, (i + 1) * whole)));
      } finally {
        staging.destroy();
      }
    },
  };
}
