// Selection of an adapter's profile by the properties that WebGPU reports.

import { describe, expect, it } from 'vitest';
import { FAMILIES } from '../../src/gpu/adapter-families.ts';
import { profileOf, PROFILES } from '../../src/gpu/adapter-profile.ts';
import type { AdapterSummary } from '../../src/gpu/adapter.ts';
import { readShader } from '../../src/gpu/node.ts';
import { openPaperDevice } from '../../src/gpu/paper-device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { attendTile } from '../../src/kernels/attend-tile.ts';
import { sharedTileOf } from '../../src/kernels/shared-tile.ts';

const summary = (given: Partial<AdapterSummary>): AdapterSummary => ({
  index: 0,
  vendor: '',
  architecture: '',
  device: '',
  description: '',
  software: false,
  features: [],
  limits: {},
  subgroupMinSize: 32,
  subgroupMaxSize: 32,
  matrixUnit: 'none is assumed',
  ...given,
});

const TEGRA = { vendor: 'nvidia', architecture: 'ampere', description: 'Orin (nvgpu)' };
const APU = { vendor: 'amd', architecture: 'rdna-3', description: 'AMD Radeon 780M Graphics (RADV PHOENIX)' };
const XTX = {
  vendor: 'amd',
  architecture: 'rdna-3',
  description: 'AMD Radeon RX 7900 XTX (RADV NAVI31)',
};
/** Sizes of subgroups, as adapters tell them. */
const WIDE = { subgroupMinSize: 64, subgroupMaxSize: 64 };
const NARROW = { subgroupMinSize: 8, subgroupMaxSize: 32 };
const XE2 = { subgroupMinSize: 16, subgroupMaxSize: 32 };
const intel = (architecture: string, device: string, sizes = NARROW): Partial<AdapterSummary> => ({
  vendor: 'intel',
  architecture,
  device,
  description: 'Intel open-source Mesa driver: Mesa 26.1.6-1~bpo13+1',
  ...sizes,
});

// Names of adapters as Dawn tells them, those of Mesa's drivers with the devices of real ones.
it.each<[string, string | null, Partial<AdapterSummary>]>([
  ['cpu', null, { vendor: 'mesa', description: 'llvmpipe (LLVM 19.1.7, 256 bits)', software: true }],
  ['discrete', 'nvidia', { vendor: 'nvidia', architecture: 'hopper', description: 'NVIDIA H100 80GB HBM3' }],
  [
    'discrete',
    'nvidia',
    { vendor: 'nvidia', architecture: 'lovelace', description: 'NVIDIA GeForce RTX 4060 Laptop GPU' },
  ],
  ['integrated', 'nvidia', TEGRA],
  ['discrete', 'amd-rdna', XTX],
  [
    'discrete',
    'amd-rdna',
    { vendor: 'amd', device: 'amd-radeon-rx-9070-xt-radv-gfx1201-', description: 'radv: Mesa 25.2.1' },
  ],
  ['discrete', 'amd-rdna', { vendor: 'amd', architecture: 'rdna-3' }],
  ['integrated', 'amd-rdna', APU],
  [
    'integrated',
    'amd-rdna',
    { vendor: 'amd', architecture: 'rdna-2', description: 'AMD Radeon(TM) Graphics' },
  ],
  ['integrated', 'amd-rdna', { vendor: 'samsung', architecture: 'rdna-2', description: 'Xclipse 920' }],
  [
    'discrete',
    'amd-gcn',
    { vendor: 'amd', architecture: 'cdna-3', description: 'AMD Instinct MI300X', ...WIDE },
  ],
  ['discrete', 'amd-gcn', { vendor: 'amd', description: 'AMD Radeon RX Vega 64 (RADV VEGA10)', ...WIDE }],
  [
    'integrated',
    'amd-gcn',
    { vendor: 'amd', architecture: 'gcn-5', device: 'amd-radeon-graphics-radv-renoir-', ...WIDE },
  ],
  ['discrete', 'intel-xe-hpg', intel('gen-12hp', 'intel-r-arc-tm-a770-graphics-dg2-')],
  ['discrete', 'intel-xe-hpg', intel('xe-hpg', 'intel-r-arc-tm-a380-graphics')],
  ['discrete', 'intel-xe-hpg', { vendor: 'intel', architecture: 'gen-12hp' }],
  ['discrete', 'intel-xe2', intel('xe-2hpg', 'intel-r-graphics-bmg-g21-', XE2)],
  ['integrated', 'intel-xe2', intel('xe-2lpg', 'intel-r-graphics-lnl-', XE2)],
  ['integrated', 'intel-xe2', intel('xe-3lpg', 'intel-r-graphics-ptl-', XE2)],
  ['integrated', 'intel-xe2', intel('', 'intel-r-graphics', XE2)],
  ['integrated', 'intel-xe-lp', intel('gen-12lp', 'intel-r-iris-r-xe-graphics-tgl-gt2-')],
  ['integrated', 'intel-xe-lp', intel('xe-lpg', 'intel-r-graphics-mtl-')],
  ['integrated', 'intel-xe-lp', intel('gen-9', 'intel-r-hd-graphics-530-skl-gt2-')],
  ['integrated', 'apple', { vendor: 'apple', architecture: 'common-3', description: 'Apple M3' }],
  ['integrated', 'apple', { vendor: 'apple', architecture: 'metal-3' }],
  ['integrated', 'apple-large', { vendor: 'apple', architecture: 'common-3', device: 'apple-m4-max' }],
  ['integrated', 'apple-large', { vendor: 'apple', description: 'Apple M2 Ultra' }],
  ['integrated', 'adreno', { vendor: 'qualcomm', architecture: 'adreno-7xx' }],
  ['integrated', null, { vendor: 'arm', architecture: 'valhall' }],
  ['discrete', null, { vendor: 'moore threads' }],
  ['discrete', null, {}],
])('the profile %s, family %s, is that of %j', (name, family, given) => {
  const profile = profileOf(summary(given));
  expect([profile.name, profile.family]).toEqual([name, family]);
});

describe("the profile of Intel's graphics", () => {
  const features = ['subgroup-size-control', 'subgroups'];
  const of = (given: Partial<AdapterSummary>) => {
    const { subgroupSize, matvecRows, sharedRows } = profileOf(summary(given));
    return { subgroupSize, matvecRows, sharedRows };
  };

  it('pins subgroups to the width of the registers', () => {
    expect(of({ ...intel('gen-12hp', ''), features })).toMatchObject({ subgroupSize: 8, matvecRows: 4 });
    expect(of({ ...intel('gen-12lp', ''), features })).toMatchObject({ subgroupSize: 8, sharedRows: 64 });
    expect(of({ ...intel('xe-2hpg', '', XE2), features })).toMatchObject({ subgroupSize: 16, matvecRows: 4 });
  });

  it('has smaller tiles if pinning is not to be had, or if the adapter states other sizes', () => {
    const narrow = { subgroupSize: null, matvecRows: 2, sharedRows: 16 };
    expect(of(intel('gen-12hp', ''))).toEqual(narrow);
    expect(of({ ...intel('xe-hpg', '', { subgroupMinSize: 32, subgroupMaxSize: 32 }), features })).toEqual(
      narrow,
    );
  });
});

it('tiles of other GPUs are as large as their registers allow, and software has none', () => {
  const rowsOf = (given: Partial<AdapterSummary>): number | null => profileOf(summary(given)).matvecRows;
  expect(rowsOf({ vendor: 'nvidia' })).toBe(8);
  expect(rowsOf({ vendor: 'mesa', software: true })).toBeNull();
});

it('tiles of GCN leave registers for a second subgroup', () => {
  const profile = profileOf(
    summary({ vendor: 'amd', architecture: 'gcn-5', description: 'RX Vega', ...WIDE }),
  );
  const device = openPaperDevice({ profile, shaders: readShader, memoryBudget: 2 ** 30 });
  const tape = new Tape(device, {});
  expect(sharedTileOf(tape, 64).params).toMatchObject({ ROWS: 64, LOADS_AHEAD: false });
  const quads = (dims: number) =>
    attendTile(tape, { queries: 4096, keys: 4096, heads: 20, dims })!.params['QUERY_QUADS'];
  expect([64, 128].map(quads)).toEqual([2, 1]);
});

it('names of profiles are unique, and tiles of attention are listed up to the largest head', () => {
  for (const list of [PROFILES, FAMILIES])
    expect(new Set(list.map(({ name }) => name)).size).toBe(list.length);
  for (const { attend } of PROFILES) {
    const dims = attend.tiles.map((row) => row.dims);
    expect(dims).toEqual(dims.toSorted((a, b) => a - b));
    expect(dims.at(-1)).toBe(Infinity);
  }
});
