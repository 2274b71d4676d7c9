// Compiles kernels before the first request. Drivers compile a kernel at its first run, so each is run once.

import type { Device } from '../../../gpu/device.ts';
import type { Encodable, Tape } from '../../../gpu/tape.ts';
import type { Sizes } from '../../../gpu/tensor.ts';

/** Runs each pipeline once, on cleared step data: a row for token 0 in page 0, which is not in use yet. */
export async function warmUp(
  device: Device,
  tapes: readonly Tape[],
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  // Sizes of a long context, in which several workgroups share the attention of one query.
  const sizes = ({ capacity: { contextPages = 0 } }: Tape): Sizes => ({
    rows: 1,
    sampled: 1,
    tiles: 1,
    tileRows: 1,
    sequences: 1,
    contextPages,
  });
  const all = tapes.flatMap((tape) => tape.encodables(sizes(tape)));
  const isEmpty = ({ groups }: Encodable): boolean => groups.includes(0);
  // A pipeline has empty dispatches, too: the strips that such a step does not reach.
  const first = new Map(
    [...all.filter(isEmpty), ...all.filter((one) => !isEmpty(one))].map((one) => [one.pipeline, one]),
  );
  let done = 0;
  for (const { pipeline, bindGroup, groups } of first.values()) {
    onProgress(done++, first.size);
    const encoder = device.gpu.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindGroup);
    pass.dispatchWorkgroups(...groups);
    pass.end();
    device.gpu.queue.submit([encoder.finish()]);
    await device.gpu.queue.onSubmittedWorkDone();
  }
  const error = device.takeError();
  if (error !== null) throw error;
  onProgress(done, first.size);
}
