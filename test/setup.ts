// Runs before every test file: removes the user's environment settings, except SVC_VULKAN_DRIVER and SVC_CHROMIUM; makes waiting for the device
// yield its core; and fills new memory with NaN, because on GPUs it has arbitrary contents.

import { expect } from 'vitest';
import { Device } from '../src/gpu/device.ts';
import { throttlePolling } from '../src/gpu/polling.ts';

const KEPT = ['SVC_VULKAN_DRIVER', 'SVC_CHROMIUM'];
for (const name of Object.keys(process.env)) {
  const ours = name.startsWith('SVC_') && !KEPT.includes(name);
  if (ours || name.startsWith('HF_')) delete process.env[name];
}

/**
 * Tests compile hundreds of shaders and run each a few times: llvmpipe compiles them in about half the time without LLVM's
 * optimizations. Set before the driver is loaded, and handed on to the processes that a test starts.
 */
process.env['GALLIVM_PERF'] ??= 'nopt';

/**
 * The driver of the browser relies on immediates keeping their order, which the throttle changes: its messages would be read out of
 * order. Tests of pages open no device of Dawn in their own thread.
 */
const drivesBrowser = /[\\/]test[\\/]browser[\\/]/.test(expect.getState().testPath ?? '');
if (!drivesBrowser) throttlePolling();

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
