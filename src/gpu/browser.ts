// The device starter for pages and their workers: adapters and devices of navigator.gpu, shaders bundled as text.

import { EngineError } from '../files/error.ts';
import { probeAdapter } from './adapter-probe.ts';
import { hostBudget, type AdapterProfile } from './adapter-profile.ts';
import { checkChoices, chosenProfile, type KernelChoices } from './chosen-profile.ts';
import { Device } from './device.ts';
import { findInBrowser } from './browser-adapters.ts';
import { SHADERS } from './browser-shaders.ts';
import { chooseAdapter, requestDevice } from './find-adapter.ts';
import type { MemoryRemedies } from './memory.ts';
import { withoutRefusedSizes } from './pinned-subgroups.ts';

export interface OpenDeviceOptions extends KernelChoices {
  /** Part of the adapter's name, or its index. */
  adapter?: string;
  /** Budget in bytes; left out: a share of the memory that the browser reports, raised by trying to allocate. */
  memoryBudget?: number;
  /** Remedies in errors of memory. */
  remedies?: MemoryRemedies;
}

const GIB = 2 ** 30;
/** GiB that are assumed where the browser reports no memory, as Firefox and Safari do. */
const UNREPORTED = 4;
/** Share of the host's memory that counts as free: browsers report the whole, and other programs and pages use some of it. */
const FREE = 0.5;

const opened = new Set<Device>();

/** Destroys every device of this thread. */
export function destroyDevices(): void {
  for (const device of opened) device.destroy();
}

export async function openDevice({ adapter: wanted, ...options }: OpenDeviceOptions = {}): Promise<Device> {
  const { adapter, languageFeatures, ...found } = chooseAdapter(await findInBrowser(), wanted);
  checkChoices(found.summary, options, languageFeatures);
  const gpu = await requestDevice(adapter);
  const summary = await withoutRefusedSizes(gpu, found.summary);
  const probed = await probeAdapter(gpu, readShader, summary).catch((error: unknown) => {
    gpu.destroy();
    throw error;
  });
  const profile = chosenProfile(summary, options);
  const { deviceMemory } = navigator as { deviceMemory?: number };
  const memoryBudget = options.memoryBudget ?? firstBudget(profile, deviceMemory);
  const device = new Device(gpu, {
    ...options,
    profile,
    memoryBudget,
    hostBudget: hostBudget(profile, freeBytes(deviceMemory), memoryBudget),
    mayGrow: options.memoryBudget === undefined && profile.memory.mayGrow,
    shaders: readShader,
    languageFeatures,
    summary,
    probed,
  });
  opened.add(device);
  void device.lost.then(() => opened.delete(device));
  return device;
}

/**
 * Returns the initial budget in bytes if the caller sets none. `deviceMemory`: GiB as navigator.deviceMemory reports them, which Chromium
 * rounds to a power of two and cuts off at 8, newer versions at 32. Source: MDN.
 */
export function firstBudget(
  { memory: { freeShare, least } }: AdapterProfile,
  deviceMemory = UNREPORTED,
): number {
  return Math.max(least, Math.floor(freeBytes(deviceMemory) * freeShare));
}

function freeBytes(deviceMemory = UNREPORTED): number {
  return deviceMemory * GIB * FREE;
}

export function readShader(path: string): string {
  const text = SHADERS[path];
  if (text === undefined) throw new EngineError('internal', `the bundle has no shader ${path}`);
  return text;
}
