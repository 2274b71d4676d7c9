// Bytes between the device and its buffers in host memory.

import type { Device } from './device.ts';
import type { Region } from './tensor.ts';

const MAP_READ = 0x1;
const MAP_WRITE = 0x2;
const COPY_DST = 0x8;
const CHUNK_BYTES = 16 * 2 ** 20;

/** Fills a buffer in host memory piece by piece; no command may use it until the promise resolves. */
export async function fillHost(
  buffer: GPUBuffer,
  pieces: AsyncIterable<{ offset: number; bytes: Uint8Array }>,
): Promise<void> {
  await buffer.mapAsync(MAP_WRITE);
  const mapped = new Uint8Array(buffer.getMappedRange());
  try {
    for await (const { offset, bytes } of pieces) mapped.set(bytes, offset);
  } finally {
    buffer.unmap();
  }
}

/** Reads bytes of the device piece by piece; each piece is valid until the next is requested. */
export async function* readPieces(
  device: Device,
  { buffer, offset, size }: Region,
): AsyncGenerator<{ offset: number; bytes: Uint8Array }> {
  const staging = device.gpu.createBuffer({
    size: Math.min(size, CHUNK_BYTES),
    usage: MAP_READ | COPY_DST,
  });
  try {
    for (let at = 0; at < size; at += CHUNK_BYTES) {
      const length = Math.min(CHUNK_BYTES, size - at);
      const encoder = device.gpu.createCommandEncoder();
      encoder.copyBufferToBuffer(buffer, offset + at, staging, 0, length);
      device.gpu.queue.submit([encoder.finish()]);
      await staging.mapAsync(MAP_READ, 0, length);
      yield { offset: at, bytes: new Uint8Array(staging.getMappedRange(0, length)) };
      staging.unmap();
    }
  } finally {
    staging.destroy();
  }
}
