// The adapters that a browser offers to a page or to its workers. It loads no device.

import { EngineError } from '../files/error.ts';
import type { AdapterSummary } from './adapter.ts';
import { findAdapters, type FoundAdapter } from './find-adapter.ts';

// Sources: the page Implementation-Status in the wiki of gpuweb/gpuweb (April 2026); for Firefox, api/GPU.json in MDN's browser-compat-data.
const BROWSERS =
  'WebGPU is in Chrome and Edge from 113 on Windows, macOS and ChromeOS, 121 on Android and 144 on Linux (Intel; NVIDIA from 147), in Safari ' +
  'from 26, and in Firefox from 141 on Windows and 145 on macOS with Apple silicon';

/** Throws no_adapter. */
export async function findInBrowser(): Promise<FoundAdapter[]> {
  const gpu = (navigator as { gpu?: GPU }).gpu;
  if (!gpu) {
    const reason = globalThis.isSecureContext
      ? `this browser has no WebGPU${typeof document === 'undefined' ? ' in workers, where the engine runs' : ''}`
      : 'this page is not a secure context, in which alone WebGPU exists: serve it over https or from localhost';
    throw new EngineError('no_adapter', `${reason}; ${BROWSERS}`);
  }
  const found = await findAdapters(gpu);
  if (found.length === 0)
    throw new EngineError(
      'no_adapter',
      `WebGPU found no GPU adapter: turn on hardware acceleration in the browser's settings, or update the GPU's driver; ${BROWSERS}`,
    );
  return found;
}

/** Lists the adapters that answer, best first. Throws no_adapter. */
export async function listAdapters(): Promise<AdapterSummary[]> {
  return (await findInBrowser()).map(({ summary }) => summary);
}
