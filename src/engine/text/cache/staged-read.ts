// Reads parts of a device's memory through a staging buffer.

import type { Device } from '../../../gpu/device.ts';

const MAP_READ = 0x1;
const COPY_DST = 0x8;

/**
 * Reads `count` items of `bytes` bytes as they are after the steps submitted so far; `copyOut` encodes the copy of one of them. Rejects
 * if the device is lost, or has no room for the staging buffer.
 */
export async function readStaged(
  { gpu }: Device,
  { count, bytes }: { count: number; bytes: number },
  copyOut: (encoder: GPUCommandEncoder, item: number, to: GPUBuffer, offset: number) => void,
): Promise<Uint8Array<ArrayBuffer>[]> {
  // A staging buffer for which there is no room must not end the steps: its errors are caught in scopes of their own.
  gpu.pushErrorScope('validation');
  gpu.pushErrorScope('out-of-memory');
  const staging = gpu.createBuffer({ size: count * bytes, usage: MAP_READ | COPY_DST });
  try {
    const encoder = gpu.createCommandEncoder();
    for (let item = 0; item < count; item++) copyOut(encoder, item, staging, item * bytes);
    gpu.queue.submit([encoder.finish()]);
    const mapped = staging.mapAsync(MAP_READ);
    const scopes = [gpu.popErrorScope(), gpu.popErrorScope()];
    const [, ...errors] = await Promise.all([mapped, ...scopes]);
    const error = errors.find((found) => found !== null);
    if (error) throw new Error(`the prefix cache could not be copied out: ${error.message}`);
    const copied = staging.getMappedRange();
    return Array.from(
      { length: count },
      (_, item) => new Uint8Array(copied.slice(item * bytes, (item + 1) * bytes)),
    );
  } finally {
    staging.destroy();
  }
}
