// Finds the fastest variant of each kernel of a tape on this adapter: the tape is recorded with one variant after the other and
// timed dispatch by dispatch.

import { dispatchTimes } from '../gpu/kernel-times.ts';
import { Tape } from '../gpu/tape.ts';
import type { Device } from '../gpu/device.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { isSame, type TunedVariants, type Variant } from '../gpu/tuning.ts';
import { compileTape } from './compile.ts';

export interface Tuned {
  /** The fastest variant of each kernel and shape. */
  variants: TunedVariants;
  /** Number of products whose fastest variant is not the default. */
  changed: number;
  /** Milliseconds of all products with their default variants, and with the fastest. */
  before: number;
  after: number;
}

/** Shortest time of a variant in milliseconds. */
interface Timed {
  variant: Variant;
  ms: number;
}

/** Number of rounds in which all variants are timed in turn, so that other load on the machine affects them equally. */
const ROUNDS = 4;
/** Share of the time that a variant must save; a smaller gain may be noise. */
const LEAST_GAIN = 0.05;

type Recorded = (tape: Tape) => readonly Tensor[];
type OnKernels = (done: number, total: number) => void;

/**
 * Registers the variants on the device; returns null if all of them were known. `onKernels` is called as kernels are compiled; an
 * error that it throws ends the search.
 */
export async function tune(device: Device, record: Recorded, onKernels?: OnKernels): Promise<Tuned | null> {
  if (!asksForUnknown(device, record)) return null;
  const times = new Map<string, Timed[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (let place = 0, places = 1; place < places; place++) {
      places = await device.tuning.trying(place, async (trial) => {
        for (const [key, ms] of await timesOf(device, record, onKernels))
          keepLeast(times, key, { variant: trial.chosen(key)!, ms });
        return trial.places;
      });
    }
  }
  return keepFastest(device, times);
}

function keepLeast(times: Map<string, Timed[]>, key: string, timed: Timed): void {
  const all = times.get(key) ?? [];
  times.set(key, all);
  const same = all.find(({ variant }) => isSame(variant, timed.variant));
  if (same) same.ms = Math.min(same.ms, timed.ms);
  else all.push(timed);
}

function asksForUnknown(device: Device, record: Recorded): boolean {
  device.tuning.unknown.clear();
  record(new Tape(device, {}));
  return device.tuning.unknown.size > 0;
}

/** Returns the milliseconds of all dispatches of one name in one replay. */
async function timesOf(
  device: Device,
  record: Recorded,
  onKernels: OnKernels | undefined,
): Promise<Map<string, number>> {
  const tape = new Tape(device, {});
  try {
    for (const result of record(tape)) if (!result.region) tape.keep(result);
    tape.finish();
    await device.reserve(device.memoryUsed + device.arena.growth());
    await compileTape(device, tape, onKernels);
    const sums = new Map<string, number>();
    for (const { step, ms } of await dispatchTimes(device, tape, {}))
      if (step.tuned !== undefined) sums.set(step.tuned, (sums.get(step.tuned) ?? 0) + ms);
    return sums;
  } finally {
    tape.destroy();
  }
}

function keepFastest(device: Device, times: ReadonlyMap<string, readonly Timed[]>): Tuned {
  const variants: { [key: string]: Variant } = {};
  const tuned = { variants, changed: 0, before: 0, after: 0 };
  for (const [key, timed] of times) {
    const first = timed[0]!;
    const least = timed.reduce((a, b) => (b.ms < a.ms ? b : a));
    const best = least.ms < (1 - LEAST_GAIN) * first.ms ? least : first;
    variants[key] = best.variant;
    if (!isSame(best.variant, first.variant)) tuned.changed++;
    tuned.before += first.ms;
    tuned.after += best.ms;
  }
  device.tuning.learn(variants);
  return tuned;
}
