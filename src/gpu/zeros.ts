// Zeros in memory: on GPUs new buffers hold what others left there.

import type { Device } from './device.ts';
import type { Region } from './tensor.ts';

/** Fills regions with zeros, all in one submit. */
export function fillZeros({ gpu }: Pick<Device, 'gpu'>, regions: readonly Region[]): void {
  if (regions.length === 0) return;
  const encoder = gpu.createCommandEncoder();
  for (const { buffer, offset, size } of regions) encoder.clearBuffer(buffer, offset, size);
  gpu.queue.submit([encoder.finish()]);
}

/** The region of a whole buffer. */
export function wholeOf(buffer: GPUBuffer): Region {
  return { buffer, offset: 0, size: buffer.size };
}
