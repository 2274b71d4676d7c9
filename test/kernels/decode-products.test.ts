// Which kernel multiplies many decode rows where a result may depend on their number: by the shape of the product and the adapter, without
// running any.

import { expect, it } from 'vitest';
import { PROFILES, type AdapterProfile } from '../../src/gpu/adapter-profile.ts';
import type { MatrixUnit } from '../../src/gpu/matrix-units.ts';
import { readShader } from '../../src/gpu/node.ts';
import { openPaperDevice } from '../../src/gpu/paper-device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { FORMATS } from '../../src/kernels/formats.ts';
import { linear } from '../../src/kernels/matmul.ts';
import { allocateMatrix, stacked } from '../../src/kernels/matrix.ts';

const UNIT: MatrixUnit = { rows: 16, columns: 16, depth: 16, subgroup: 32, pinned: false };

/** The kernel of a product of so many decode rows. */
function kernelOf(
  name: AdapterProfile['name'],
  [columns, k]: readonly [columns: number, k: number],
  rows: number,
  { unit = null, promptProducts = true }: { unit?: MatrixUnit | null; promptProducts?: boolean } = {},
): string {
  const profile = PROFILES.find((one) => one.name === name)!;
  const device = openPaperDevice({ profile, shaders: readShader, memoryBudget: 2 ** 40 });
  device.capabilities.matrixUnit = unit;
  const matrix = allocateMatrix(device, FORMATS.int4, k, stacked([{ name: 'w', rows: columns }]));
  const tape = new Tape(device, { rows }, { decodes: ['rows'], promptProducts });
  linear(tape.tensor(['rows', k]), matrix);
  tape.finish();
  return tape.encodables({ rows }).at(-1)!.name;
}

const WIDE = [28672, 4096] as const;
const NARROW = [4096, 4096] as const;

it('products of many columns are multiplied on matrix units from 17 rows on', () => {
  for (const rows of [32, 64, 256])
    expect(kernelOf('discrete', WIDE, rows, { unit: UNIT })).toBe('gemm-matrix.wgsl');
});

it('products whose tiles would occupy a part of the device keep their slices', () => {
  expect(kernelOf('discrete', NARROW, 32, { unit: UNIT })).toBe('matvec.wgsl');
  expect(kernelOf('discrete', NARROW, 256, { unit: UNIT })).toBe('gemm-matrix.wgsl');
});

it('tiles without matrix units are faster where slices have few rows', () => {
  expect(kernelOf('integrated', WIDE, 64)).toBe('gemm.wgsl');
  expect(kernelOf('integrated', WIDE, 20)).toBe('matvec.wgsl');
  for (const rows of [32, 64]) expect(kernelOf('discrete', WIDE, rows)).toBe('matvec.wgsl');
});

it('rows of other tapes have slices in any number', () => {
  expect(kernelOf('discrete', WIDE, 256, { unit: UNIT, promptProducts: false })).toBe('matvec.wgsl');
  expect(kernelOf('integrated', WIDE, 64, { promptProducts: false })).toBe('matvec.wgsl');
});
