// KV pages on the move: from one page to another, from outside the device into a page, and out again. Outside, a page is
// its keys and values layer by layer, in one piece.

import type { Device } from '../../../gpu/device.ts';
import type { KvPages } from '../../../kernels/batch.ts';
import type { PageMoves } from './sequence-pages.ts';

export interface PageMover {
  /** Bytes of a page in all layers. */
  readonly bytes: number;
  /** The pages it works on. */
  use(kv: readonly KvPages[]): void;
  /** Copies one after the other, then writes; both come before all steps submitted later. */
  move(moves: PageMoves): void;
  /** Rejects where the device is lost meanwhile, or has no room for the copy. */
  read(pages: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]>;
}

const MAP_READ = 0x1;
const COPY_DST = 0x8;

/** `bytes` of a page's keys (or values) in one layer. */
export function createPageMover(device: Device, bytes: number, layers: number): PageMover {
  const whole = 2 * layers * bytes;
  // A buffer cannot be copied into itself.
  const between = device.allocate('kv', 'a page on its way', whole);
  const { queue } = device.gpu;
  let buffers: GPUBuffer[] = [];

  const copyOut = (encoder: GPUCommandEncoder, page: number, to: GPUBuffer, offset: number): void =>
    buffers.forEach((buffer, i) =>
      encoder.copyBufferToBuffer(buffer, page * bytes, to, offset + i * bytes, bytes),
    );

  return {
    bytes: whole,
    use(kv) {
      buffers = kv.flatMap(({ keys, values }) => [keys.buffer, values.buffer]);
    },
    move({ copies, loads }) {
      if (copies.length > 0) {
        const encoder = device.gpu.createCommandEncoder();
        for (const { from, to } of copies) {
          copyOut(encoder, from, between, 0);
          buffers.forEach((buffer, i) =>
            encoder.copyBufferToBuffer(between, i * bytes, buffer, to * bytes, bytes),
          );
        }
        queue.submit([encoder.finish()]);
      }
      for (const { page, bytes: source } of loads) {
        buffers.forEach((buffer, i) => queue.writeBuffer(buffer, page * bytes, source, i * bytes, bytes));
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
