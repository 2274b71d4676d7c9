// Runs before every test file: removes the user's environment settings, except those of KEPT; makes waiting for the device
// yield its core; fills new memory with NaN; and has models share GPU devices.

import { readFileSync } from 'node:fs';
import { afterEach, expect } from 'vitest';
import { throttlePolling } from '../src/gpu/polling.ts';
import { runAfterTest } from './hooks.ts';
import { poisonMemory } from './poison.ts';

const KEPT = ['SVC_VULKAN_DRIVER', 'SVC_CHROMIUM', 'SVC_FIREFOX', 'SVC_BUN', 'SVC_DENO'];
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
const { testPath = '' } = expect.getState();
const drivesBrowser = /[\\/]test[\\/](browser|web)[\\/]/.test(testPath);
if (!drivesBrowser) throttlePolling();

poisonMemory();

/** Files of rooms whose tests open models in their own thread, without those that replace modules before anything imports them. */
const opensModels = /[\\/]test[\\/](engine|server|cli[\\/]generate)[\\/]/.test(testPath);
if (opensModels && !readFileSync(testPath, 'utf8').includes('vi.mock('))
  (await import('./engine/kept-devices.ts')).keepDevices();

afterEach(runAfterTest);
