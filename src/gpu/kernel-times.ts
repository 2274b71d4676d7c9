// GPU time of a replay by kernel: each dispatch runs in its own pass between two timestamps, and times are summed by kernel.
// Separate passes cost more than a shared one, so the sum exceeds the time of an ordinary replay.

import type { Device } from './device.ts';
import type { Encodable } from './dispatch.ts';
import type { Tape } from './tape.ts';
import type { Sizes } from './tensor.ts';

export interface KernelTime {
  /** File name of the shader. */
  name: string;
  dispatches: number;
  ms: number;
}

const QUERY_RESOLVE = 0x200;
const COPY_SRC = 0x4;
/** Number of dispatches per query set, which has at most 4096 timestamps. */
const MOST_TIMED = 2048;

/** Replays the tape once; returns kernels by descending time. */
export async function profile(device: Device, tape: Tape, sizes: Sizes): Promise<KernelTime[]> {
  const kernels = new Map<string, KernelTime>();
  for (const { step, ms } of await dispatchTimes(device, tape, sizes)) {
    const kernel = kernels.get(step.name) ?? { name: step.name, dispatches: 0, ms: 0 };
    kernel.dispatches++;
    kernel.ms += ms;
    kernels.set(step.name, kernel);
  }
  return [...kernels.values()].sort((a, b) => b.ms - a.ms);
}

export interface DispatchTime {
  step: Encodable;
  ms: number;
}

/** Replays the tape once, dispatch by dispatch, without those of zero workgroups. */
export async function dispatchTimes(device: Device, tape: Tape, sizes: Sizes): Promise<DispatchTime[]> {
  if (!device.capabilities.timestamps) throw new Error('the adapter has no timestamps');
  const steps = tape.encodables(sizes).filter(({ groups }) => groups.every((count) => count !== 0));
  const times: DispatchTime[] = [];
  for (let first = 0; first < steps.length; first += MOST_TIMED)
    times.push(...(await timed(device, steps.slice(first, first + MOST_TIMED))));
  return times;
}

async function timed(device: Device, steps: readonly Encodable[]): Promise<DispatchTime[]> {
  const querySet = device.gpu.createQuerySet({ type: 'timestamp', count: 2 * steps.length });
  const size = 16 * steps.length;
  const resolved = device.gpu.createBuffer({ size, usage: QUERY_RESOLVE | COPY_SRC });
  const encoder = device.gpu.createCommandEncoder();
  steps.forEach(({ pipeline, bindGroup, groups }, i) => {
    const pass = encoder.beginComputePass({
      timestampWrites: { querySet, beginningOfPassWriteIndex: 2 * i, endOfPassWriteIndex: 2 * i + 1 },
    });
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindGroup);
    pass.dispatchWorkgroups(...groups);
    pass.end();
  });
  encoder.resolveQuerySet(querySet, 0, 2 * steps.length, resolved, 0);
  device.gpu.queue.submit([encoder.finish()]);
  const stamps = new BigUint64Array(await device.read({ buffer: resolved, offset: 0, size }));
  querySet.destroy();
  resolved.destroy();
  return steps.map((step, i) => ({ step, ms: Number(stamps[2 * i + 1]! - stamps[2 * i]!) / 1e6 }));
}
