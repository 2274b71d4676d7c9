// The probe of matrix units, and kernels on them as Dawn's compiler checks them on a backend that computes nothing: software adapters have none.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { link, type Params } from '../../src/gpu/linker.ts';
import { fragmentParams, type MatrixUnit } from '../../src/gpu/matrix-units.ts';
import { readShader } from '../../src/gpu/node.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { FORMATS, type FormatName } from '../../src/kernels/formats.ts';
import { gemmMatrixKernel } from '../../src/kernels/gemm-matrix.ts';
import { allocateMatrix, stacked } from '../../src/kernels/matrix.ts';
import { probeMatrixUnit } from '../../src/kernels/matrix-unit.ts';
import { openNullDevice, validate } from '../gpu/null-device.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { MATRIX_UNITS as UNITS } from './matrix-units.ts';

let device: Device;
beforeAll(async () => void (device = await openNullDevice()));
afterAll(() => device.destroy());

/** Parameters of the kernel for so many rows. */
function paramsFor(unit: MatrixUnit, format: FormatName, rows: number): Params {
  device.capabilities.matrixUnit = unit;
  const weight = allocateMatrix(device, FORMATS[format], 64, stacked([{ name: 'w', rows: 32768 }]));
  const [window] = weight.windows;
  const { params } = gemmMatrixKernel(new Tape(device, { rows }), weight, { rows, stripRows: rows, window });
  for (const { codes, scales } of weight.windows)
    [codes, scales].forEach((of) => of && device.free(of.buffer));
  return params;
}

const problems = (params: Params, store: Params) =>
  validate(device, 'gemm-matrix.wgsl', { ...params, W: 'int4', BIAS: 'none', MATRIX: 'one', ...store });
const SET = { STORE: 'set', ACTIVATION: 'none' };

it.each(Object.entries(UNITS))('the unit %s compiles in each of its tiles', async (_, unit) => {
  const tiles = [512, 64, 20].map((rows) => paramsFor(unit, 'int4', rows));
  const usual = unit.subgroup < 32 ? [64, 64, 32] : [128, 64, 32];
  expect(tiles.map(({ ROWS }) => ROWS)).toEqual(usual);
  for (const params of tiles) expect(await problems(params, SET)).toEqual([]);
});

it.each(Object.entries(UNITS))('the unit %s compiles the probe', async (_, unit) => {
  expect(await validate(device, 'matrix-unit.wgsl', fragmentParams(unit))).toEqual([]);
});

it('the kernel of matrix units compiles in every format', async () => {
  for (const name of Object.keys(FORMATS) as FormatName[])
    expect(await problems(paramsFor(UNITS.amd, name, 512), { ...SET, W: name })).toEqual([]);
});

it('the kernel of matrix units compiles with experts, biases and every end', async () => {
  const params = paramsFor(UNITS.nvidia, 'int4', 512);
  for (const store of [
    { STORE: 'add' },
    { STORE: 'gated-pair', ACTIVATION: 'silu', GATE_FIRST: true },
    { STORE: 'clamped-pair', ALPHA: 1.7, LIMIT: 7 },
    { ...SET, MATRIX: 'experts', GATHER: true },
  ] as Params[])
    expect(await problems(params, { BIAS: 'add', ...store })).toEqual([]);
});

it('the kernel of matrix units asks for a size of subgroups only where there are others', () => {
  const codeOf = (unit: MatrixUnit) =>
    link(readShader, 'gemm-matrix.wgsl', {
      ...paramsFor(unit, 'int4', 64),
      ...SET,
      W: 'int4',
      BIAS: 'none',
      MATRIX: 'one',
    }).code;
  expect(codeOf(UNITS.amd)).toContain('@compute @subgroup_size(32)');
  expect(codeOf(UNITS.amd)).toContain('enable subgroup_size_control;');
  expect(codeOf(UNITS.nvidia)).not.toContain('subgroup_size_control');
});

describe('the probe of a matrix unit', async () => {
  const software = await openTestDevice();
  const unit = { rows: 8, columns: 16, depth: 16, subgroup: 16, pinned: false };

  it.skipIf(!software.capabilities.f16)('keeps a unit that computes', async () => {
    const on = disguise(software, { matrixUnit: { ...unit, emulated: true } });
    await probeMatrixUnit(on);
    expect(on.capabilities.matrixUnit).toEqual({ ...unit, emulated: true });
  });

  it('gives up one that does not compile, and one that computes something else', async () => {
    const missing = disguise(software, { matrixUnit: unit });
    await probeMatrixUnit(missing);
    expect(missing.capabilities.matrixUnit).toBeNull();
    const wrong = disguise(software, { matrixUnit: { ...unit, columns: 8, emulated: true } });
    const path = 'lib/fragments.shared.wgsl';
    wrong.addShader(path, readShader(path).replace('* STRIDE;', '* STRIDE + 1u;'));
    await probeMatrixUnit(wrong);
    expect(wrong.capabilities.matrixUnit).toBeNull();
    expect(software.takeError()).toBeNull();
  });
});
