// The probe of matrix units when a device opens: the feature is experimental, and its syntax differs among versions of WebGPU.

import type { Device } from '../gpu/device.ts';
import { fragmentParams, type MatrixUnit } from '../gpu/matrix-units.ts';
import { Tape } from '../gpu/tape.ts';

const LANES = 128;
/** Columns from one row of a kept fragment to the next. */
const STRIDE = 32;

/** Runs one small product on the device's matrix units, if it has some. Where it fails, or comes out wrong, kernels do without. */
export async function probeMatrixUnit(device: Device): Promise<void> {
  const { capabilities } = device;
  const { matrixUnit } = capabilities;
  if (matrixUnit !== null && !(await works(device, matrixUnit))) capabilities.matrixUnit = null;
}

async function works(device: Device, unit: MatrixUnit): Promise<boolean> {
  const params = fragmentParams(unit);
  const problems = await device.diagnose('matrix-unit.wgsl', params);
  if (problems.length > 0) return false;
  const subgroups = LANES / unit.subgroup;
  const tape = new Tape(device, {});
  const y = tape.keep(tape.tensor([subgroups * unit.rows, STRIDE]));
  tape.dispatch('matrix-unit.wgsl', { params, args: { blocks: 1 }, bind: { y }, groups: () => [1] });
  tape.finish();
  tape.run({});
  const results = new Float32Array(await device.read(tape.region(y)));
  tape.destroy();
  return expected(unit).every((row, at) =>
    row.every((value, column) =>
      Array.from({ length: subgroups }, (_, subgroup) => (subgroup * unit.rows + at) * STRIDE + column).every(
        (i) => results[i] === value,
      ),
    ),
  );
}

/** Twice the product of what matrix-unit.wgsl multiplies, [rows][columns]. */
function expected({ rows, columns, depth }: MatrixUnit): number[][] {
  const x = (row: number, k: number) => ((row * 7 + k * 3) % 11) - 5;
  const w = (column: number, k: number) => ((column * 5 + k * 2) % 13) - 6;
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (_, column) =>
      Array.from({ length: depth }, (_, k) => 2 * x(row, k) * w(column, k)).reduce((a, b) => a + b),
    ),
  );
}
