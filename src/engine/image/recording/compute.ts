// Records and runs a computation on the device, and copies its result into a buffer that outlives the computation.

import { wholeOf } from '../../../gpu/memory.ts';
import { Tape } from '../../../gpu/tape.ts';
import type { Device } from '../../../gpu/device.ts';
import { profile, type KernelTime } from '../../../gpu/kernel-times.ts';
import { Tensor, tensorBytes, type Region, type StepReuse } from '../../../gpu/tensor.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import { compileTape } from '../../tuning/compile.ts';
import type { ComputeOptions, Recorded } from './compute-options.ts';
import { assertWanted, NotFiniteError } from './compute-errors.ts';

export { assertWanted, NotFiniteError, type ComputeOptions };

/** Allocates an uninitialized tensor with a buffer of its own; its shape consists of numbers, not step sizes. */
export function allocateTensor(device: Device, label: string, shape: readonly number[]): Tensor {
  const buffer = device.allocate('step', label, tensorBytes(shape, {}));
  return new Tensor(shape, 'f32', { region: wholeOf(buffer) });
}

export function freeTensors(device: Device, tensors: Iterable<Tensor | null | undefined>): void {
  for (const tensor of tensors) if (tensor?.region) device.free(tensor.region.buffer);
}

/**
 * Limit on the segments of a single run that are submitted but not done: cancelling waits for these only, while a decoder may take
 * seconds.
 */
const AHEAD = 3;
/** Milliseconds from which a segment counts as long: the next one is then submitted after it, at no measurable cost. */
const LONG = 20;

/** A tape recorded once and replayed until it is disposed; results are copied out after each run. */
export class Recording implements Disposable {
  readonly #device: Device;
  readonly #tape: Tape;
  readonly #compileOnly: boolean;
  #runs = 0;
  readonly #replay: { submitEvery: number; last(encoder: GPUCommandEncoder): void };

  constructor(
    device: Device,
    tape: Tape,
    { results, into }: { results: readonly Tensor[]; into: readonly Tensor[] },
    compileOnly: boolean,
  ) {
    this.#device = device;
    this.#tape = tape;
    this.#compileOnly = compileOnly;
    const last = (encoder: GPUCommandEncoder): void => {
      for (const [i, result] of results.entries()) copyOut(encoder, tape.region(result), into[i]!.region!);
    };
    this.#replay = { submitEvery: 1, last };
  }

  /** Resolves when all is submitted. Throws what reading weights from files throws. */
  run(): Promise<void> {
    return this.runPart(0);
  }

  /** Like `run`, for the segments from `first` to before `end`, between two forks of the tape; left out: to the last, which copies the results. */
  async runPart(first: number, end?: number): Promise<void> {
    if (end === undefined) this.#runs++;
    const segments = [first, end ?? this.#tape.segmentCount] as const;
    if (this.#compileOnly || segments[0] === segments[1]) return;
    const { last, ...replay } = this.#replay;
    await this.#tape.replay({}, { ...replay, segments, ...(end === undefined && { last }) });
  }

  /** Submits no further segment once `signal` aborts. Throws cancelled. */
  async runUnless(signal: AbortSignal | undefined): Promise<void> {
    this.#runs++;
    if (this.#compileOnly) return;
    const { queue } = this.#device.gpu;
    const pending: Promise<unknown>[] = [];
    let isLong = false;
    let doneAt = performance.now();
    for (const waits of this.#tape.submits({}, this.#replay)) {
      if (waits !== null) {
        await waits;
        continue;
      }
      pending.push(queue.onSubmittedWorkDone().catch(() => {})); // a lost device is reported at the end
      while (pending.length >= (isLong ? 1 : AHEAD)) {
        await pending.shift();
        isLong = performance.now() - doneAt > LONG;
        doneAt = performance.now();
      }
      assertWanted(signal);
    }
  }

  /** GPU times of the kernels in all runs so far; measured in one more run, kernel by kernel. */
  async times(): Promise<KernelTime[]> {
    const runs = this.#runs;
    if (runs === 0) return [];
    const times = await profile(this.#device, this.#tape, {});
    return times.map((time) => ({ ...time, dispatches: runs * time.dispatches, ms: runs * time.ms }));
  }

  [Symbol.dispose](): void {
    this.#tape.destroy();
  }
}

/** GPU times of all kernels of several recordings. */
export async function timesOf(recordings: Iterable<Recording>): Promise<KernelTime[]> {
  const times: KernelTime[] = [];
  for (const recording of recordings) times.push(...(await recording.times()));
  return times;
}

function copyOut(encoder: GPUCommandEncoder, source: Region, target: Region): void {
  if (source.buffer === target.buffer) return; // the result was computed in its destination
  const bytes = Math.min(source.size, target.size);
  encoder.copyBufferToBuffer(source.buffer, source.offset, target.buffer, target.offset, bytes);
}

/**
 * Records `record`. `into` receives copies of the tensors that it returns, in order. Memory for the intermediates is reserved
 * before the first run; throws out_of_memory if that fails. `recorder`: records parts of a denoiser that runs may leave out.
 */
export async function recordTape(
  device: Device,
  { plain, attention, matrices, onKernels, onShaders, compileOnly = false, tune, tokens }: ComputeOptions,
  record: Recorded,
  into: readonly Tensor[],
  recorder: StepReuse | null = null,
): Promise<Recording> {
  /** Records the part of this rank, for which kernels are timed too. */
  const recordOwn = (tape: Tape): readonly Tensor[] => {
    const split = tokens ? { ...tokens, counts: [] } : null;
    return record(Object.assign(tape, { split, sums: matrices ?? null }));
  };
  if (!plain) await tune?.(recordOwn, attention);
  const tape = new Tape(device, {}, { plain, reuse: recorder, ...(attention && { attention }) });
  try {
    const results = recordOwn(tape);
    for (const result of results) if (!result.region) tape.keep(result);
    tape.finish();
    await device.reserve(device.memoryUsed + device.arena.growth());
    await compileTape(device, tape, onKernels);
    onShaders?.(new Set(tape.encodables({}).map(({ name }) => name)));
    return new Recording(device, tape, { results, into }, compileOnly);
  } catch (error) {
    tape.destroy();
    throw error;
  }
}

/** Records and runs a computation once; each result has a buffer of its own. */
export async function compute(device: Device, options: ComputeOptions, record: Recorded): Promise<Tensor[]> {
  const into: Tensor[] = [];
  try {
    await computeInto(device, options, allocating(device, record, into), into);
    return into;
  } catch (error) {
    freeTensors(device, into);
    throw error;
  }
}

/** A recording that allocates tensors for copies of its results. */
const allocating =
  (device: Device, record: Recorded, into: Tensor[]): Recorded =>
  (tape) => {
    const results = record(tape);
    for (const { shape } of results) into.push(allocateTensor(device, 'result', shape as number[]));
    return results;
  };

/** Runs of a computation: `bring` gives the inputs of each, and `take` takes its results, which the next run overwrites. */
export interface Turns {
  count: number;
  bring(turn: number): void;
  take(results: readonly Tensor[]): Promise<void>;
}

/** Records a computation once, and runs it turn by turn. */
export async function computeTurns(
  device: Device,
  options: ComputeOptions,
  record: Recorded,
  { count, bring, take }: Turns,
): Promise<void> {
  const into: Tensor[] = [];
  try {
    using recording = await recordTape(
      device,
      { ...options, tune: undefined },
      allocating(device, record, into),
      into,
    );
    for (let turn = 0; turn < count; turn++) {
      bring(turn);
      await recording.runUnless(options.signal);
      await device.gpu.queue.onSubmittedWorkDone();
      await take(into);
    }
    await options.profiler?.add(() => recording.times());
  } finally {
    freeTensors(device, into);
  }
}

/** Records and runs a computation once, and copies its results into tensors. */
export async function computeInto(
  device: Device,
  options: ComputeOptions,
  record: Recorded,
  into: readonly Tensor[],
): Promise<void> {
  using recording = await recordTape(device, { ...options, tune: undefined }, record, into);
  await recording.runUnless(options.signal);
  await device.gpu.queue.onSubmittedWorkDone();
  await options.profiler?.add(() => recording.times());
}

/**
 * Calls `run` with a flag (u32 [1]), and again with plain f32 kernels if the flag is raised, because f16 overflows at 65504. Throws
 * NotFiniteError if it is raised again; `free` releases a result that is not finite.
 */
export async function finitely<T>(
  device: Device,
  options: ComputeOptions,
  what: string,
  run: (options: ComputeOptions, notFinite: Region) => Promise<T>,
  free: (made: T) => void = () => {},
): Promise<T> {
  const flag = device.tensor('step', 'finite check', [1], new Uint32Array(1));
  const region = flag.region!;
  const ways = options.plain ? [options] : [options, { ...options, plain: true }];
  try {
    for (const [i, way] of ways.entries()) {
      if (i > 0) options.onNotFinite?.(what);
      device.gpu.queue.writeBuffer(region.buffer, 0, new Uint32Array(1));
      const made = await run(way, region);
      const [raised] = new Uint32Array(await device.read(region));
      if (raised === 0) return made;
      free(made);
    }
    throw new NotFiniteError();
  } finally {
    freeTensors(device, [flag]);
  }
}

/** Computes tensors once, and again in plain f32 where one has a value that is not finite; each has a buffer of its own. */
export async function computeFinite(
  device: Device,
  options: ComputeOptions,
  what: string,
  record: (tape: Tape, notFinite: Region) => readonly Tensor[],
): Promise<Tensor[]> {
  const one = device.tensor('step', 'one', [1], Float32Array.of(1));
  const run = (way: ComputeOptions, notFinite: Region): Promise<Tensor[]> =>
    compute(device, way, (tape) =>
      record(tape, notFinite).map((x) => linearCombination([x], one.region!, notFinite)),
    );
  try {
    return await finitely(device, options, what, run, (made) => freeTensors(device, made));
  } finally {
    freeTensors(device, [one]);
  }
}
