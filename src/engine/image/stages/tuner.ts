// Tuning of an image model: the result is reported in a note, and stored for devices that are opened later.

import type { Device } from '../../../gpu/device.ts';
import type { Platform } from '../../platform/platform.ts';
import { SearchTime } from '../../tuning/search-time.ts';
import { tune, type TuneOptions, type Tuned } from '../../tuning/tune.ts';
import type { ComputeOptions } from '../recording/compute.ts';

/** Milliseconds of all searches of a warm-up. On software adapters the compiler takes most of it. */
const MOST_SEARCH = 30_000;

export interface TunerListener extends Required<Pick<TuneOptions, 'onKernels' | 'onTrials'>> {
  note(message: string): void;
}

export function createTuner(
  device: Device,
  platform: Pick<Platform, 'keepTuned'>,
  { note, onKernels, onTrials }: TunerListener,
  time = new SearchTime(MOST_SEARCH, () => performance.now()),
): ComputeOptions['tune'] {
  if (!device.capabilities.timestamps) {
    note('nothing is tuned: the adapter has no timestamps to tell fast kernels from slow ones');
    return undefined;
  }
  return async (record, attention) => {
    const step = { capacity: {}, sizes: {}, kinds: attention ? { attention } : {} };
    const found = await tune(device, record, { onKernels, onTrials, time, step });
    if (found === null) return;
    if (Object.keys(found.variants).length > 0) await platform.keepTuned(device.summary, found.variants);
    note(resultText(found, time.limit));
  };
}

function resultText({ variants, before, after, changed, trials }: Tuned, limit: number): string {
  const { done, total } = trials;
  const seconds = limit / 1000;
  const products = Object.keys(variants).length;
  if (products === 0)
    return `nothing is tuned: the ${seconds} s for it were over before a second variant was timed`;
  const result = `tuned: of ${products} products of a step ${changed} are faster in other tiles, ${after.toFixed(1)} instead of ${before.toFixed(1)} ms for all of them`;
  return done === total
    ? result
    : `${result}; the search ended after ${seconds} s, with ${done} of ${total} trials`;
}
