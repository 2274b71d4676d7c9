// Opens a device on an adapter, for the starters of Node and of pages (node.ts, browser.ts), and keeps the list of this thread's devices.

import { EngineError } from '../files/error.ts';
import { probeAdapter } from './adapter-probe.ts';
import { firstBudget, hostBudget } from './adapter-profile.ts';
import { checkChoices, chosenProfile, type KernelChoices } from './chosen-profile.ts';
import { Device, type DeviceSettings } from './device.ts';
import { requestDevice, type FoundAdapter, type RankPlace } from './find-adapter.ts';
import { withoutRefusedSizes } from './pinned-subgroups.ts';

export interface DeviceOptions extends KernelChoices, Pick<DeviceSettings, 'remedies'> {
  /** Part of the adapter's name, or its index. */
  adapter?: string;
  /** Left out: the device computes alone. */
  place?: RankPlace;
  /** Budget in bytes; left out: a share of the memory that is free, on GPUs an estimate that is raised by trying to allocate. */
  memoryBudget?: number;
}

const opened = new Set<{ destroy(): void }>();
let leaving = false;

/**
 * For a thread that is about to end, since a pending promise of Dawn would crash the process. Destroys every device, which settles
 * its promises soon, and prevents further ones from being opened.
 */
export function destroyDevices(): void {
  leaving = true;
  for (const device of opened) device.destroy();
}

/** Opens a device on an adapter. `freeBytes`: the host's memory that is free. */
export async function startDevice(
  { adapter, languageFeatures, ...found }: FoundAdapter,
  options: DeviceOptions & Pick<DeviceSettings, 'bindingLimit' | 'portable'>,
  { shaders, freeBytes }: Pick<DeviceSettings, 'shaders'> & { freeBytes: () => number },
): Promise<Device> {
  checkChoices(found.summary, options, languageFeatures);
  const gpu = await requestDevice(adapter);
  const { summary, probed } = await whileOpen(gpu, async () => {
    const summary = await withoutRefusedSizes(gpu, found.summary);
    return { summary, probed: await probeAdapter(gpu, shaders, summary) };
  });
  const profile = chosenProfile(summary, options);
  const free = freeBytes();
  const memoryBudget = options.memoryBudget ?? firstBudget(profile, free);
  const device = new Device(gpu, {
    ...options,
    ...{ profile, memoryBudget, shaders, languageFeatures, summary, probed },
    hostBudget: hostBudget(profile, free, memoryBudget),
    ...(profile.memory.freeShare > 0 && { sharedMemory: free }),
    mayGrow: options.memoryBudget === undefined && profile.memory.mayGrow,
  });
  opened.add(device);
  void device.lost.then(() => opened.delete(device));
  return device;
}

/** Runs the first work on a device, which `destroyDevices` ends. Destroys the device if it fails. */
async function whileOpen<T>(gpu: GPUDevice, run: () => Promise<T>): Promise<T> {
  opened.add(gpu);
  try {
    if (leaving) throw new Error('no device is opened any more');
    return await run();
  } catch (cause) {
    gpu.destroy();
    if (leaving) throw new EngineError('cancelled', 'the process is ending', { cause });
    throw cause;
  } finally {
    opened.delete(gpu);
  }
}
