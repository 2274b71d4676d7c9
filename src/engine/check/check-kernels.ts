// Checks an adapter's kernels family by family: those that its profile chooses against the plain forms, or against JavaScript where there is one
// form only.

import type { Device } from '../../gpu/device.ts';
import { Tape } from '../../gpu/tape.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { ATTENTION_CASES } from './attention-cases.ts';
import type { KernelCheck } from './check-result.ts';
import type { KernelCase } from './kernel-case.ts';
import { KernelInputs } from './kernel-inputs.ts';
import { OTHER_CASES } from './other-cases.ts';
import { PRODUCT_CASES } from './product-cases.ts';

export const KERNEL_CASES: readonly KernelCase[] = [...OTHER_CASES, ...PRODUCT_CASES, ...ATTENTION_CASES];

/** Largest error as a share of the largest value: kernels may hold inputs in f16. */
const TOLERANCE = 2e-3;

/** Checks one case after the other; a device that one of them loses is opened again. */
export async function checkKernels(
  open: () => Promise<Device>,
  onCheck: (check: KernelCheck, done: number, total: number) => void = () => {},
  all: readonly KernelCase[] = KERNEL_CASES,
): Promise<KernelCheck[]> {
  const checks: KernelCheck[] = [];
  let device = await open();
  const cases = all.filter((one) => hasKernels(device, one));
  try {
    for (const one of cases) {
      if ((await device.loss()) !== null) device = await open();
      const check = await checkCase(device, one);
      checks.push(check);
      onCheck(check, checks.length, cases.length);
    }
    return checks;
  } finally {
    device.destroy();
  }
}

/** Whether the adapter has the kernels of a case. */
export function hasKernels({ profile, capabilities }: Device, { activations }: KernelCase): boolean {
  return activations === undefined || (profile.matvecRows !== null && capabilities.integerDots);
}

async function checkCase(
  device: Device,
  { name, sizes, decodes = [], activations, prepare }: KernelCase,
): Promise<KernelCheck> {
  const started = performance.now();
  const inputs = new KernelInputs(device);
  const kernels: string[] = [];
  let problem: string | null;
  try {
    const { record, expected } = prepare(inputs);
    // Without kernels of their own, decode rows have no name on a tape.
    const named = device.profile.matvecRows === null ? [] : decodes;
    const options = { decodes: named, ...(activations && { activations }) };
    const tuned = await run(new Tape(device, sizes, options), record);
    const plain = expected ? null : await run(new Tape(device, sizes, { plain: true }), record);
    const own = tuned.kernels.filter((kernel) => !plain?.kernels.includes(kernel));
    kernels.push(...(own.length > 0 ? own : tuned.kernels));
    problem = difference(tuned.values, expected ?? plain!.values, tuned.tolerance);
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  inputs.free();
  return { name, kernels, ok: problem === null, problem, milliseconds: performance.now() - started };
}

/** Runs what is recorded on the tape; returns the names of its shaders, and the result's columns, row after row. */
async function run(
  tape: Tape,
  record: (tape: Tape) => Tensor,
): Promise<{ kernels: string[]; values: number[]; tolerance: number }> {
  const { device, capacity } = tape;
  try {
    const y = tape.keep(record(tape));
    tape.finish();
    tape.run(capacity);
    const isRun = ({ groups }: { groups: readonly unknown[] }): boolean => !groups.includes(0);
    const kernels = [
      ...new Set(
        tape
          .encodables(capacity)
          .filter(isRun)
          .map(({ name }) => name),
      ),
    ];
    const bytes = await device.read(tape.region(y));
    const error = device.takeError();
    if (error !== null) throw error;
    const words = y.dtype === 'u32' ? new Uint32Array(bytes) : new Float32Array(bytes);
    const values = Array.from({ length: y.rows(capacity) }, (_, row) =>
      Array.from(words.subarray(row * y.stride, row * y.stride + y.columns)),
    ).flat();
    return { kernels, values, tolerance: y.dtype === 'u32' ? 0 : TOLERANCE };
  } finally {
    tape.destroy();
  }
}

function difference(
  values: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number,
): string | null {
  if (values.length !== expected.length) return `${values.length} values instead of ${expected.length}`;
  let [worst, at] = [0, 0];
  let largest = 0;
  for (let i = 0; i < expected.length; i++) {
    largest = Math.max(largest, Math.abs(expected[i]!));
    const error = Math.abs(values[i]! - expected[i]!);
    if (!(error <= worst)) [worst, at] = [Number.isNaN(error) ? Infinity : error, i];
  }
  if (worst <= tolerance * largest) return null;
  return `value ${at} is ${values[at]} instead of ${expected[at]}, where values go up to ${largest.toPrecision(3)}`;
}
