// The probe of an adapter: a norm and a matmul on small numbers, compared with JavaScript's results.

import { type Prose, option, say, textOf } from '../../files/message.ts';
import type { Device } from '../../gpu/device.ts';
import { Tape } from '../../gpu/tape.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { FORMATS } from '../../kernels/formats.ts';
import { allocateMatrix, stacked } from '../../kernels/matrix.ts';
import { packRows } from '../../kernels/pack.ts';
import { runOnce } from '../../kernels/run-once.ts';
import { linear } from '../../kernels/matmul.ts';
import type { ProbeResult } from './probe-result.ts';

const ROWS = 4;
const K = 64;
const COLUMNS = 32;

export async function probe(open: () => Promise<Device>): Promise<ProbeResult> {
  const started = performance.now();
  const remarks: string[] = [];
  const problem = await check(open, remarks).catch((error: unknown) =>
    error instanceof Error ? error.message : String(error),
  );
  return {
    ok: problem === null,
    problem: problem === null ? null : textOf(problem),
    remarks,
    milliseconds: performance.now() - started,
  };
}

async function check(open: () => Promise<Device>, remarks: string[]): Promise<Prose | null> {
  const device = await open();
  remarks.push(...remarksOn(device));
  try {
    const x = wave(ROWS * K, 1);
    const weight = wave(COLUMNS * K, 2);
    const actual = await compute(device, x, weight);
    const error = device.takeError();
    if (error !== null) return error.message;
    const expected = reference(x, weight);
    const worst = expected.reduce((most, value, i) => Math.max(most, Math.abs(value - actual[i]!)), 0);
    return worst < 1e-4
      ? null
      : say`a matmul is off by ${worst}: the driver miscomputes, update it or try another ${option('adapter')}`;
  } finally {
    device.destroy();
  }
}

/** Sentences about features that the device's adapter has or should have, and that kernels do not use because a probe failed. */
export function remarksOn({
  probed,
  summary,
  capabilities,
}: Pick<Device, 'probed' | 'summary' | 'capabilities'>): string[] {
  if (probed === null) return [];
  const { keepsSubnormalHalves, subgroupProblem } = probed;
  return [
    ...(keepsSubnormalHalves
      ? []
      : ['it takes subnormal f16 numbers for zero: kernels convert f16 by integers, which is slower']),
    ...(subgroupProblem === null
      ? []
      : [`${subgroupProblem}: kernels use no subgroups, which is slower; update the driver`]),
    ...(typeof summary.matrixUnit === 'object' && capabilities.matrixUnit === null
      ? [
          'its matrix unit does not compile or computes something else: prompts and attention are computed without it, which is slower; update the driver',
        ]
      : []),
  ];
}

/** Computes norm(x) · Wᵀ, [ROWS, COLUMNS]. */
async function compute(device: Device, x: Float32Array, weight: Float32Array): Promise<Float32Array> {
  const parts = stacked([{ name: 'probe', rows: COLUMNS }]);
  const matrix = allocateMatrix(device, FORMATS.f32, K, parts);
  const raw = device.tensor('step', 'probe', [COLUMNS, K], weight).region!;
  const chunk = { raw, source: 'f32', firstRow: 0, rows: COLUMNS } as const;
  runOnce(device, (tape) => packRows(tape, matrix, parts[0]!, chunk));
  const tape = new Tape(device, {});
  const input = device.tensor('step', 'probe', [ROWS, K], x).on(tape);
  const ones = device.tensor('step', 'probe', [K], new Float32Array(K).fill(1));
  const y = tape.keep(linear(rmsnorm(input, ones, 0), matrix));
  tape.finish();
  tape.run({});
  return new Float32Array(await device.read(tape.region(y)));
}

function reference(x: Float32Array, weight: Float32Array): number[] {
  return Array.from({ length: ROWS * COLUMNS }, (_, i) => {
    const row = x.subarray(Math.floor(i / COLUMNS) * K, Math.floor(i / COLUMNS) * K + K);
    const column = weight.subarray((i % COLUMNS) * K, (i % COLUMNS) * K + K);
    const norm = 1 / Math.sqrt(row.reduce((sum, value) => sum + value * value, 0) / K);
    return row.reduce((sum, value, k) => sum + value * norm * column[k]!, 0);
  });
}

function wave(length: number, seed: number): Float32Array {
  return Float32Array.from({ length }, (_, i) => Math.sin(i * 0.7 + seed));
}
