// Tuning of an image model: the result is reported in a note, and stored for devices that are opened later.

import type { Device } from '../../gpu/device.ts';
import type { Platform } from '../platform.ts';
import { tune } from '../tune.ts';
import type { ComputeOptions } from './compute.ts';

export function createTuner(
  device: Device,
  platform: Pick<Platform, 'keepTuned'>,
  note: (message: string) => void,
  onKernels: (done: number, total: number) => void,
): ComputeOptions['tune'] {
  if (!device.capabilities.timestamps) {
    note('nothing is tuned: the adapter has no timestamps to tell fast kernels from slow ones');
    return undefined;
  }
  return async (record) => {
    const found = await tune(device, record, onKernels);
    if (found === null) return;
    await platform.keepTuned(device.summary, found.variants);
    const { before, after, changed } = found;
    const products = Object.keys(found.variants).length;
    note(
      `tuned: of ${products} products of a step ${changed} are faster in other tiles, ${after.toFixed(1)} instead of ${before.toFixed(1)} ms for all of them`,
    );
  };
}
