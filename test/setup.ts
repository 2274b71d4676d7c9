// Runs before every test file: removes the user's environment settings, except SVC_VULKAN_DRIVER; makes waiting for the device
// yield its core; and fills new memory with NaN, because on GPUs it has arbitrary contents.

import { expect } from 'vitest';
import { Device } from '../src/gpu/device.ts';
import { throttlePolling } from '../src/gpu/polling.ts';

for (const name of Object.keys(process.env)) {
  const ours = name.startsWith('SVC_') && name !== 'SVC_VULKAN_DRIVER';
  if (ours || name.startsWith('HF_')) delete process.env[name];
}

/**
 * Tests of kernels compile hundreds of pipelines and run each a few times. Without LLVM's optimizations llvmpipe compiles them in
 * half the time.
 */
if (expect.getState().testPath?.includes('/test/kernels/')) process.env['GALLIVM_PERF'] ??= 'nopt';

throttlePolling();

/** NaN as f32, and as a pair of f16 or bf16. */
const POISON = new Uint32Array(1 << 20).fill(0x7fff7fff);
const allocate = Object.getOwnPropertyDescriptor(Device.prototype, 'allocate')!.value as Device['allocate'];
Device.prototype.allocate = function (...given) {
  const buffer = allocate.apply(this, given);
  for (let at = 0; at < buffer.size; at += POISON.byteLength) {
    const words = Math.min(POISON.byteLength, buffer.size - at) / 4;
    this.gpu.queue.writeBuffer(buffer, at, POISON, 0, words);
  }
  return buffer;
};
