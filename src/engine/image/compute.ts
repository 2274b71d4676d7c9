// One computation on the device: recorded, run, and what came of it kept in bytes of its own.

import { EngineError } from '../../files/error.ts';
import { Tape } from '../../gpu/tape.ts';
import type { Device } from '../../gpu/device.ts';
import { profile, type KernelTime } from '../../gpu/kernel-times.ts';
import { Tensor, tensorBytes, type Region } from '../../gpu/tensor.ts';
import { compileTape } from '../compile.ts';
import type { Profiler } from './profiler.ts';

export interface ComputeOptions {
  /** Plain f32 kernels. */
  plain: boolean;
  /** Finds out where the time of a computation goes. */
  profiler?: Profiler | undefined;
  /** Hears of the kernels that are compiled for the next computation. */
  onKernels?: ((done: number, total: number) => void) | undefined;
  /** Hears what came out as no numbers, and is computed again in plain f32. */
  onNotFinite?: ((what: string) => void) | undefined;
  /** Kernels are compiled, and nothing is computed. */
  compileOnly?: boolean;
  /** Gives a single run up between two segments. */
  signal?: AbortSignal | undefined;
  /** Finds the fastest variants of what will be replayed many times, before it is recorded. */
  tune?: ((record: Recorded) => Promise<void>) | undefined;
}

type Recorded = (tape: Tape) => readonly Tensor[];

export class NotFiniteError extends EngineError {
  constructor() {
    super(
      'internal',
      'the model computed values that are not finite numbers: the checkpoint may be damaged; fetch it again, or try `allF32`',
    );
  }
}

/** A tensor with bytes of its own, not yet written; shape of plain numbers. */
export function allocateTensor(device: Device, label: string, shape: readonly number[]): Tensor {
  const buffer = device.allocate('step', label, tensorBytes(shape, {}));
  return new Tensor(shape, 'f32', { region: { buffer, offset: 0, size: buffer.size } });
}

export function freeTensors(device: Device, tensors: Iterable<Tensor | null | undefined>): void {
  for (const tensor of tensors) if (tensor?.region) device.free(tensor.region.buffer);
}

/** Segments of a single run that are on their way at most: a decoder alone may take seconds, and who has left waits for none of it. */
const AHEAD = 3;
/** Milliseconds from which on a segment is long: the next one then waits for it, which the device does not notice. */
const LONG = 20;

/** A tape recorded once and replayed until it is destroyed. */
export interface Recording {
  run(): void;
  /** Runs no further than to what is under way when `signal` aborts. Throws cancelled. */
  runUnless(signal: AbortSignal | undefined): Promise<void>;
  /** Runs once more, kernel by kernel. */
  times(): Promise<KernelTime[]>;
  destroy(): void;
}

/**
 * Records what `record` does; `into` takes copies of the tensors it returns, in order. Memory for what lies between is found
 * before the first run; `out_of_memory` where there is none.
 */
export async function recordTape(
  device: Device,
  { plain, onKernels, compileOnly = false, tune }: ComputeOptions,
  record: Recorded,
  into: readonly Tensor[],
): Promise<Recording> {
  if (!plain) await tune?.(record);
  const tape = new Tape(device, {}, { plain });
  let results: readonly Tensor[];
  try {
    results = record(tape);
    for (const result of results) if (!result.region) tape.keep(result);
    tape.finish();
    await device.reserve(device.memoryUsed + device.arena.growth());
    await compileTape(device, tape, onKernels);
  } catch (error) {
    tape.destroy();
    throw error;
  }
  const last = (encoder: GPUCommandEncoder): void =>
    results.forEach((result, i) => {
      const source = tape.region(result);
      const target = into[i]!.region!;
      if (source.buffer === target.buffer) return; // computed in place
      const bytes = Math.min(source.size, target.size);
      encoder.copyBufferToBuffer(source.buffer, source.offset, target.buffer, target.offset, bytes);
    });
  const replay = { submitEvery: 1, last };
  return {
    run() {
      if (!compileOnly) tape.run({}, replay);
    },
    async runUnless(signal) {
      if (compileOnly) return;
      const { queue } = device.gpu;
      const under: Promise<unknown>[] = [];
      const submits = tape.submits({}, replay);
      let isLong = false;
      let doneAt = performance.now();
      while (submits.next().done !== true) {
        under.push(queue.onSubmittedWorkDone().catch(() => {})); // a loss is told at the end
        while (under.length >= (isLong ? 1 : AHEAD)) {
          await under.shift();
          isLong = performance.now() - doneAt > LONG;
          doneAt = performance.now();
        }
        if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled');
      }
    },
    times: () => profile(device, tape, {}),
    destroy: () => tape.destroy(),
  };
}

/** The same for a single run; the results have bytes of their own. */
export async function compute(device: Device, options: ComputeOptions, record: Recorded): Promise<Tensor[]> {
  const results: Tensor[] = [];
  const into: Tensor[] = [];
  try {
    const recording = await recordTape(
      device,
      { ...options, tune: undefined },
      (tape) => {
        results.push(...record(tape));
        for (const { shape } of results) into.push(allocateTensor(device, 'result', shape as number[]));
        return results;
      },
      into,
    );
    try {
      await recording.runUnless(options.signal);
      await device.gpu.queue.onSubmittedWorkDone();
      await options.profiler?.add(recording.times);
    } finally {
      recording.destroy();
    }
    return into;
  } catch (error) {
    freeTensors(device, into);
    throw error;
  }
}

/**
 * What `run` makes, made again by plain f32 kernels where it raises the flag (u32 [1]) that it is given: f16 ends at 65504. Throws
 * NotFiniteError where they raise it too; `free` gives back what is not taken.
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
