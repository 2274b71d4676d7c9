// Finds the fastest variant of each kernel of a tape on this adapter: the tape is recorded with one variant after the other and
// timed dispatch by dispatch.

import { dispatchTimes } from '../gpu/kernel-times.ts';
import { Tape } from '../gpu/tape.ts';
import type { Device } from '../gpu/device.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { isSame, type TunedVariants, type Variant } from '../gpu/tuning.ts';
import { compileTape } from './compile.ts';
import { fastestVariant, roundingStep, type TimedVariant } from './fastest-variant.ts';

export interface Tuned {
  /** The fastest variant of each kernel and shape. */
  variants: TunedVariants;
  /** Number of products whose fastest variant is not the default. */
  changed: number;
  /** Milliseconds of all products with their default variants, and with the fastest. */
  before: number;
  after: number;
}

/** The times of one kernel with each of its variants. */
interface TimedKernel {
  /** Number of dispatches in one replay. */
  dispatches: number;
  variants: TimedVariant[];
}

/** The dispatches of one kernel in one replay. */
interface KernelSum {
  ms: number;
  dispatches: number;
}

/** Number of rounds in which all variants are timed in turn, so that other load on the machine affects them equally. */
const ROUNDS = 4;
type Recorded = (tape: Tape) => readonly Tensor[];
type OnKernels = (done: number, total: number) => void;

/**
 * Registers the variants on the device; returns null if all of them were known. `onKernels` is called as kernels are compiled; an
 * error that it throws ends the search.
 */
export async function tune(device: Device, record: Recorded, onKernels?: OnKernels): Promise<Tuned | null> {
  if (!asksForUnknown(device, record)) return null;
  const times = new Map<string, TimedKernel>();
  const durations: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (let place = 0, places = 1; place < places; place++) {
      places = await device.tuning.trying(place, async (trial) => {
        for (const [key, sum] of await timesOf(device, record, durations, onKernels))
          addTime(times, key, trial.chosen(key)!, sum);
        return trial.places;
      });
    }
  }
  return keepFastest(device, times, roundingStep(durations));
}

function addTime(
  times: Map<string, TimedKernel>,
  key: string,
  variant: Variant,
  { ms, dispatches }: KernelSum,
): void {
  const kernel = times.get(key) ?? { dispatches, variants: [] };
  times.set(key, kernel);
  const same = kernel.variants.find((timed) => isSame(timed.variant, variant));
  if (same) same.times.push(ms);
  else kernel.variants.push({ variant, times: [ms] });
}

function asksForUnknown(device: Device, record: Recorded): boolean {
  device.tuning.unknown.clear();
  record(new Tape(device, {}));
  return device.tuning.unknown.size > 0;
}

/** Returns the sums of one replay by kernel, and adds the milliseconds of each dispatch to `durations`. */
async function timesOf(
  device: Device,
  record: Recorded,
  durations: number[],
  onKernels: OnKernels | undefined,
): Promise<Map<string, KernelSum>> {
  const tape = new Tape(device, {});
  try {
    for (const result of record(tape)) if (!result.region) tape.keep(result);
    tape.finish();
    await device.reserve(device.memoryUsed + device.arena.growth());
    await compileTape(device, tape, onKernels);
    const sums = new Map<string, KernelSum>();
    for (const { step, ms } of await dispatchTimes(device, tape, {})) {
      durations.push(ms);
      if (step.tuned === undefined) continue;
      const sum = sums.get(step.tuned) ?? { ms: 0, dispatches: 0 };
      sums.set(step.tuned, { ms: sum.ms + ms, dispatches: sum.dispatches + 1 });
    }
    return sums;
  } finally {
    tape.destroy();
  }
}

function keepFastest(device: Device, times: ReadonlyMap<string, TimedKernel>, step: number): Tuned {
  const variants: { [key: string]: Variant } = {};
  const tuned = { variants, changed: 0, before: 0, after: 0 };
  for (const [key, { variants: timed, dispatches }] of times) {
    const { variant, before, after, isDefault } = fastestVariant(timed, { step, dispatches });
    variants[key] = variant;
    if (!isDefault) tuned.changed++;
    tuned.before += before;
    tuned.after += after;
  }
  device.tuning.learn(variants);
  return tuned;
}
