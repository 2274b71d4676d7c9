// One computation on the device: recorded, run, and what came of it kept in bytes of its own.

import { Tape } from '../../gpu/tape.ts';
import type { Device } from '../../gpu/device.ts';
import { profile, type KernelTime } from '../../gpu/profile.ts';
import { Tensor, tensorBytes } from '../../gpu/tensor.ts';

export interface ComputeOptions {
  /** Plain f32 kernels. */
  plain: boolean;
  /** Hears where the time of a computation goes, each kernel once; it is then run a second time for that. */
  onTimes?: ((times: readonly KernelTime[]) => void) | undefined;
}

/** A tensor with bytes of its own, not yet written; shape of plain numbers. */
export function allocateTensor(device: Device, label: string, shape: readonly number[]): Tensor {
  const buffer = device.allocate('step', label, tensorBytes(shape, {}));
  return new Tensor(shape, 'f32', { region: { buffer, offset: 0, size: buffer.size } });
}

export function freeTensors(device: Device, tensors: Iterable<Tensor | null | undefined>): void {
  for (const tensor of tensors) if (tensor?.region) device.free(tensor.region.buffer);
}

/** A tape recorded once and replayed until it is destroyed. */
export interface Recording {
  run(): void;
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
  { plain }: ComputeOptions,
  record: (tape: Tape) => readonly Tensor[],
  into: readonly Tensor[],
): Promise<Recording> {
  const tape = new Tape(device, {}, { plain });
  const results = record(tape);
  for (const result of results) if (!result.region) tape.keep(result);
  tape.finish();
  await device.reserve(device.memoryUsed + device.arena.growth());
  return {
    run: () =>
      tape.run(
        {},
        {
          submitEvery: 1,
          last: (encoder) =>
            results.forEach((result, i) => {
              const source = tape.region(result);
              const target = into[i]!.region!;
              if (source.buffer === target.buffer) return; // computed in place
              const bytes = Math.min(source.size, target.size);
              encoder.copyBufferToBuffer(source.buffer, source.offset, target.buffer, target.offset, bytes);
            }),
        },
      ),
    times: () => profile(device, tape, {}),
    destroy: () => tape.destroy(),
  };
}

/** The same for a single run; the results have bytes of their own. */
export async function compute(
  device: Device,
  options: ComputeOptions,
  record: (tape: Tape) => readonly Tensor[],
): Promise<Tensor[]> {
  const results: Tensor[] = [];
  const into: Tensor[] = [];
  try {
    const recording = await recordTape(
      device,
      options,
      (tape) => {
        results.push(...record(tape));
        for (const { shape } of results) into.push(allocateTensor(device, 'result', shape as number[]));
        return results;
      },
      into,
    );
    recording.run();
    await device.gpu.queue.onSubmittedWorkDone();
    options.onTimes?.(await recording.times());
    recording.destroy();
    return into;
  } catch (error) {
    freeTensors(device, into);
    throw error;
  }
}
