// Compiles kernels before they are needed. Drivers compile at a kernel's first dispatch; here that dispatch is indirect with zero
// workgroups, so that nothing is computed. A direct dispatch of zero makes Dawn write a warning to standard output.

import type { Device } from '../../gpu/device.ts';
import type { Encodable, Tape } from '../../gpu/tape.ts';

const INDIRECT = 0x100;
const COPY_DST = 0x8;

/** Called before each kernel is compiled, and after the last one. */
export type OnKernels = (done: number, total: number) => void;

/** Compiles the kernels of a finished tape with reserved memory that have not run yet; an error thrown by `onKernels` ends it. */
export function compileTape(device: Device, tape: Tape, onKernels?: OnKernels): Promise<void> {
  return compileTapes(device, [tape], onKernels);
}

/** Compiles the kernels of several tapes, as `compileTape` does. Throws the device's error, if there is one by then. */
export async function compileTapes(
  device: Device,
  tapes: readonly Tape[],
  onKernels: OnKernels = () => {},
): Promise<void> {
  await compileFresh(device, tapes, onKernels);
  const error = device.takeError();
  if (error !== null) throw error;
}

/** Leaves the device's error, if there is one, for the next step to take. */
async function compileFresh(device: Device, tapes: readonly Tape[], onKernels: OnKernels): Promise<void> {
  const first = freshOf(device, tapes);
  if (first.length === 0) return;
  const none = device.gpu.createBuffer({ size: 12, usage: INDIRECT | COPY_DST });
  // The buffer is not cleared, so its initial contents are undefined.
  device.gpu.queue.writeBuffer(none, 0, new Uint32Array(3));
  let done = 0;
  try {
    for (const { pipeline, bindGroup } of first) {
      onKernels(done++, first.length);
      const encoder = device.gpu.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindGroup);
      pass.dispatchWorkgroupsIndirect(none, 0);
      pass.end();
      device.gpu.queue.submit([encoder.finish()]);
      await device.gpu.queue.onSubmittedWorkDone();
      device.compiled.add(pipeline);
    }
  } finally {
    none.destroy();
  }
  onKernels(done, first.length);
}

/** Compiles, as `compileTapes` does, one kernel of these tapes; resolves with whether there was one to compile. */
export async function compileNext(device: Device, tapes: readonly Tape[]): Promise<boolean> {
  let isFirst = true;
  const stop = Symbol('one is enough');
  try {
    await compileFresh(device, tapes, () => {
      if (!isFirst) throw stop;
      isFirst = false;
    });
  } catch (error) {
    if (error !== stop) throw error;
  }
  return !isFirst;
}

/** Each kernel that the device has not compiled, once. */
function freshOf(device: Device, tapes: readonly Tape[]): Encodable[] {
  const fresh = tapes
    .flatMap((tape) => tape.encodables(tape.capacity))
    .filter(({ pipeline }) => !device.compiled.has(pipeline));
  return [...new Map(fresh.map((encodable) => [encodable.pipeline, encodable])).values()];
}
