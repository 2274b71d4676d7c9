// The device starter for pages and their workers: adapters and devices of navigator.gpu, shaders bundled as text.

import { internalError } from '../files/error.ts';
import { findInBrowser } from './browser-adapters.ts';
import { SHADERS } from './browser-shaders.ts';
import type { Device } from './device.ts';
import { adapterOf } from './find-adapter.ts';
import { startDevice, type DeviceOptions } from './start-device.ts';

export { destroyDevices } from './start-device.ts';

export type PageDeviceOptions = DeviceOptions;

const GIB = 2 ** 30;
/** GiB that are assumed where the browser reports no memory, as Firefox and Safari do. */
const UNREPORTED = 4;
/** Share of the host's memory that counts as free: browsers report the whole, and other programs and pages use some of it. */
const FREE = 0.5;

export async function openDevice(options: PageDeviceOptions = {}): Promise<Device> {
  const { deviceMemory } = navigator as { deviceMemory?: number };
  const found = adapterOf(await findInBrowser(), options.adapter, options.place);
  return startDevice(found, options, { shaders: readShader, freeBytes: () => freeBytes(deviceMemory) });
}

/**
 * Returns bytes of the host's memory. `deviceMemory`: GiB as navigator.deviceMemory reports them, which Chromium rounds to a power of two and
 * cuts off at 8, newer versions at 32. Source: MDN.
 */
export function freeBytes(deviceMemory = UNREPORTED): number {
  return deviceMemory * GIB * FREE;
}

export function readShader(path: string): string {
  const text = SHADERS[path];
  if (text === undefined) throw internalError(`the bundle has no shader ${path}`);
  return text;
}
