// Before every test file: nothing of the user's own settings reaches a test, except the driver that SVC_VULKAN_DRIVER names; waiting
// for the device leaves its core to the device; and fresh memory holds no zeros, as on GPUs, where it is what others left there.

import { expect } from 'vitest';
import { Device } from '../src/gpu/device.ts';
import { throttlePolling } from '../src/gpu/polling.ts';

for (const name of Object.keys(process.env)) {
  const ours = name.startsWith('SVC_') && name !== 'SVC_VULKAN_DRIVER';
  if (ours || name.startsWith('HF_')) delete process.env[name];
}

/** Tests of kernels compile hundreds of pipelines and run each a few times: llvmpipe compiles them in half the time without LLVM's optimizations. */
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
