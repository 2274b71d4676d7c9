// Finds the fastest variant of each kernel of a tape on this adapter: the tape is recorded with one variant after the other and
// timed dispatch by dispatch, until all are timed or the time for it is over.

import { dispatchTimes } from '../../gpu/kernel-times.ts';
import { Tape } from '../../gpu/tape.ts';
import type { RowKinds } from '../../gpu/tape-options.ts';
import type { Device } from '../../gpu/device.ts';
import type { Sizes, Tensor } from '../../gpu/tensor.ts';
import { isSame, type TunedVariants, type Variant } from '../../gpu/tuning.ts';
import { compileTape } from './compile.ts';
import { fastestVariant, roundingStep, type TimedVariant } from './fastest-variant.ts';
import type { SearchTime } from './search-time.ts';

export interface Tuned {
  /** The fastest variant of each kernel and shape; none if the time was over before two variants were timed. */
  variants: TunedVariants;
  /** Number of kernels whose fastest variant is not the default. */
  changed: number;
  /** Milliseconds of all kernels with their default variants, and with the fastest. */
  before: number;
  after: number;
  /** Trials that were made, and those that time all variants in all rounds. */
  trials: { done: number; total: number };
}

export interface TuneOptions {
  /** Called as kernels of the default variants are compiled. An error that it throws ends the search. */
  onKernels?: OnCount;
  /** Called after each trial, and as kernels of a trial are compiled, with the trials that are done. An error that it throws ends the search. */
  onTrials?: OnCount;
  /** Left out: there is no limit. */
  time?: SearchTime;
  /** Sizes that the tape is recorded for and replayed with, and its kinds of rows; left out: all sizes are fixed. */
  step?: TunedStep;
}

export interface TunedStep {
  capacity: Sizes;
  sizes: Sizes;
  kinds: RowKinds;
}

const FIXED: TunedStep = { capacity: {}, sizes: {}, kinds: {} };

/** The times of one kernel with each of its variants. */
interface TimedKernel {
  /** Number of dispatches in one replay. */
  dispatches: number;
  variants: TimedVariant[];
}

/** One kernel in one replay. */
interface KernelSum {
  variant: Variant;
  ms: number;
  dispatches: number;
}

/** Measurements of one replay, by kernel. */
interface Trial {
  kernels: ReadonlyMap<string, KernelSum>;
  /** Milliseconds of each dispatch. */
  durations: readonly number[];
  /** Number of trials that a round has. */
  places: number;
}

/** Number of rounds in which all variants are timed in turn, so that other load on the machine affects them equally. */
const ROUNDS = 4;
/** Share of the time that the first round may take. */
const FIRST_ROUND = 0.75;
type Recorded = (tape: Tape) => readonly Tensor[];
type OnCount = (done: number, total: number) => void;

/** Thrown where the time is over while kernels of a trial are compiled. */
class TimeOver extends Error {}

/**
 * Registers the variants on the device; returns null if all of them were known. The default variants are timed in any case, since
 * their kernels are compiled for later use anyway.
 */
export async function tune(
  device: Device,
  record: Recorded,
  options: TuneOptions = {},
): Promise<Tuned | null> {
  const { onKernels, onTrials = () => {}, time, step = FIXED } = options;
  if (!asksForUnknown(device, record, step)) return null;
  const first = await trialOf(device, record, 0, { onKernels, step });
  const total = first.places > 1 ? ROUNDS * first.places : 1;
  onTrials(0, total);
  onTrials(1, total);
  time?.begin();
  try {
    const trials = await firstRound(device, record, first, {
      onTrials: (done) => onTrials(done, total),
      time,
      step,
    });
    // Every compiled variant is timed equally often, so that none has more chances of a fast measurement.
    const places = trials.length;
    const most = places > 1 ? ROUNDS * places : 1;
    while (trials.length < most && !time?.isOver()) {
      const onKernel = (): void => onTrials(trials.length, most);
      trials.push(await trialOf(device, record, trials.length % places, { onKernels: onKernel, step }));
      onTrials(trials.length, most);
    }
    const whole = Math.floor(trials.length / places) * places;
    return keepFastest(device, trials.slice(0, whole), { done: trials.length, total });
  } finally {
    time?.end();
  }
}

/** Times each variant once, as far as their share of the time allows: in this round, their kernels are compiled. */
async function firstRound(
  device: Device,
  record: Recorded,
  first: Trial,
  { onTrials, time, step }: Pick<TuneOptions, 'time'> & { onTrials: (done: number) => void; step: TunedStep },
): Promise<Trial[]> {
  const trials = [first];
  const isOver = (): boolean => time?.isOver(FIRST_ROUND) ?? false;
  try {
    while (trials.length < first.places && !isOver()) {
      const onKernels = (): void => {
        onTrials(trials.length);
        if (isOver()) throw new TimeOver();
      };
      const next = await trialOf(device, record, trials.length, { onKernels, step });
      trials.push(next);
      onTrials(trials.length);
    }
  } catch (error) {
    if (!(error instanceof TimeOver)) throw error;
  }
  return trials;
}

function asksForUnknown(device: Device, record: Recorded, { capacity, kinds }: TunedStep): boolean {
  device.tuning.unknown.clear();
  record(new Tape(device, capacity, kinds));
  return device.tuning.unknown.size > 0;
}

/** Replays the tape once with the variants at one index of each list. */
function trialOf(
  device: Device,
  record: Recorded,
  place: number,
  { onKernels, step: { capacity, sizes, kinds } }: { onKernels: OnCount | undefined; step: TunedStep },
): Promise<Trial> {
  return device.tuning.trying(place, async (trial) => {
    const tape = new Tape(device, capacity, kinds);
    try {
      for (const result of record(tape)) if (!result.region) tape.keep(result);
      tape.finish();
      await device.reserve(device.memoryUsed + device.arena.growth());
      await compileTape(device, tape, onKernels);
      const kernels = new Map<string, KernelSum>();
      const durations: number[] = [];
      for (const { step, ms } of await dispatchTimes(device, tape, sizes)) {
        durations.push(ms);
        if (step.tuned === undefined) continue;
        const sum = kernels.get(step.tuned) ?? { variant: trial.chosen(step.tuned)!, ms: 0, dispatches: 0 };
        kernels.set(step.tuned, { ...sum, ms: sum.ms + ms, dispatches: sum.dispatches + 1 });
      }
      return { kernels, durations, places: trial.places };
    } finally {
      tape.destroy();
    }
  });
}

function keepFastest(device: Device, trials: readonly Trial[], counts: Tuned['trials']): Tuned {
  const variants: { [key: string]: Variant } = {};
  const tuned = { variants, changed: 0, before: 0, after: 0, trials: counts };
  if (counts.done === 1 && counts.total > 1) return tuned;
  const step = roundingStep(trials.flatMap(({ durations }) => durations));
  for (const [key, { variants: timed, dispatches }] of timesOf(trials)) {
    const { variant, before, after, isDefault } = fastestVariant(timed, { step, dispatches });
    variants[key] = variant;
    if (!isDefault) tuned.changed++;
    tuned.before += before;
    tuned.after += after;
  }
  device.tuning.learn(variants);
  return tuned;
}

function timesOf(trials: readonly Trial[]): Map<string, TimedKernel> {
  const times = new Map<string, TimedKernel>();
  for (const [key, { variant, ms, dispatches }] of trials.flatMap(({ kernels }) => [...kernels])) {
    const kernel = times.get(key) ?? { dispatches, variants: [] };
    times.set(key, kernel);
    const same = kernel.variants.find((timed) => isSame(timed.variant, variant));
    if (same) same.times.push(ms);
    else kernel.variants.push({ variant, times: [ms] });
  }
  return times;
}
