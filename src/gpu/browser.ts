// The device starter for pages and their workers: adapters and devices of navigator.gpu, shaders bundled as text.

import { EngineError } from '../files/error.ts';
import type { AdapterSummary } from './adapter.ts';
import { profileOf, type AdapterProfile } from './adapter-profile.ts';
import { Device } from './device.ts';
import { chooseAdapter, findAdapters, requestDevice, type FoundAdapter } from './find-adapter.ts';
import type { MemoryRemedies } from './memory.ts';

/** Texts of shaders/ by path, which the bundler puts in the place of this name. */
declare const SVC_SHADERS: Readonly<Record<string, string>>;

export interface OpenDeviceOptions {
  /** Part of the adapter's name, or its index. */
  adapter?: string;
  /** Budget in bytes; left out: a share of the memory that the browser reports, raised by trying to allocate. */
  memoryBudget?: number;
  /** Remedies in errors of memory. */
  remedies?: MemoryRemedies;
}

const GIB = 2 ** 30;

/** The memory of the host in bytes. Browsers report at most 8 GiB, in coarse steps; where they report none, 4 GiB are assumed. */
function hostMemory(): number {
  const { deviceMemory } = navigator as { deviceMemory?: number };
  return (deviceMemory ?? 4) * GIB;
}

async function find(): Promise<FoundAdapter[]> {
  const gpu = (navigator as { gpu?: GPU }).gpu;
  if (!gpu) {
    const reason = globalThis.isSecureContext
      ? 'this browser has no WebGPU'
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

// Source: the implementation status page of the WebGPU working group.
const BROWSERS =
  'WebGPU is in Chrome and Edge from 113 (Linux and Android from 121), Safari from 26 and Firefox from 141 (Windows; 145 macOS)';

/** Lists the adapters that answer, best first. Throws no_adapter. */
export async function listAdapters(): Promise<AdapterSummary[]> {
  return (await find()).map(({ summary }) => summary);
}

const opened = new Set<Device>();

/** Destroys every device of this thread. */
export function destroyDevices(): void {
  for (const device of opened) device.destroy();
}

export async function openDevice({ adapter: wanted, ...options }: OpenDeviceOptions = {}): Promise<Device> {
  const { adapter, summary } = chooseAdapter(await find(), wanted);
  const gpu = await requestDevice(adapter);
  const profile = profileOf(summary);
  const device = new Device(gpu, {
    ...options,
    profile,
    memoryBudget: options.memoryBudget ?? firstBudget(profile),
    mayGrow: options.memoryBudget === undefined && profile.memory.mayGrow,
    shaders: readShader,
    summary,
  });
  opened.add(device);
  void device.lost.then(() => opened.delete(device));
  return device;
}

/** Returns the initial budget in bytes if the caller sets none. */
function firstBudget({ memory: { freeShare, least } }: AdapterProfile): number {
  return Math.max(least, Math.floor(hostMemory() * freeShare));
}

export function readShader(path: string): string {
  const text = SVC_SHADERS[path];
  if (text === undefined) throw new EngineError('internal', `the bundle has no shader ${path}`);
  return text;
}
