// Selection of an adapter's profile by the properties that WebGPU reports.

import { expect, it } from 'vitest';
import { profileOf, PROFILES } from '../../src/gpu/adapter-profile.ts';
import type { AdapterSummary } from '../../src/gpu/adapter.ts';

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

it.each([
  ['cpu', { vendor: 'mesa', description: 'llvmpipe (LLVM 19.1.7, 256 bits)', software: true }],
  ['discrete', { vendor: 'nvidia', architecture: 'hopper', description: 'NVIDIA H100 80GB HBM3' }],
  ['discrete', { vendor: 'nvidia', architecture: 'ada', description: 'NVIDIA GeForce RTX 4060 Laptop GPU' }],
  ['integrated', { vendor: 'nvidia', architecture: 'ampere', description: 'Orin (nvgpu)' }],
  [
    'discrete',
    { vendor: 'amd', architecture: 'rdna-3', description: 'AMD Radeon RX 7900 XTX (RADV NAVI31)' },
  ],
  ['discrete', { vendor: 'amd', architecture: 'cdna-3', description: 'AMD Instinct MI300X' }],
  ['discrete', { vendor: 'amd', architecture: 'rdna-3' }],
  [
    'integrated',
    { vendor: 'amd', architecture: 'rdna-3', description: 'AMD Radeon 780M Graphics (RADV PHOENIX)' },
  ],
  ['integrated', { vendor: 'amd', architecture: 'rdna-2', description: 'AMD Radeon(TM) Graphics' }],
  ['discrete', { vendor: 'intel', architecture: 'xe-hpg', description: 'Intel(R) Arc(TM) A770 Graphics' }],
  ['discrete', { vendor: 'intel', architecture: 'gen-12hp', description: 'Intel(R) Arc(tm) A770 (DG2)' }],
  ['discrete', { vendor: 'intel', architecture: 'gen-12hp' }],
  ['discrete', { vendor: 'intel', architecture: 'xe-2hpg', description: 'Intel(R) Arc(TM) B580 Graphics' }],
  [
    'integrated',
    { vendor: 'intel', architecture: 'xe-2lpg', description: 'Intel(R) Arc(TM) 140V GPU (16GB)' },
  ],
  ['integrated', { vendor: 'intel', architecture: 'gen-12lp', description: 'Intel(R) UHD Graphics 770' }],
  ['integrated', { vendor: 'apple', architecture: 'common-3', description: 'Apple M3 Max' }],
  ['integrated', { vendor: 'qualcomm', architecture: 'adreno-7xx' }],
  ['discrete', { vendor: 'moore threads' }],
] as const)('%s: %j', (name, given) => {
  expect(profileOf(summary(given)).name).toBe(name);
});

it('tiles of decode rows fit the registers of the adapter', () => {
  const rowsOf = (given: Partial<AdapterSummary>): number | null => profileOf(summary(given)).matvecRows;
  expect(rowsOf({ vendor: 'nvidia' })).toBe(8);
  expect(rowsOf({ vendor: 'intel', architecture: 'xe-2hpg' })).toBe(2);
  expect(rowsOf({ vendor: 'intel', architecture: 'gen-12lp' })).toBe(2);
  expect(rowsOf({ vendor: 'mesa', software: true })).toBeNull();
});

it('names are unique, and tiles of attention are listed up to the largest head', () => {
  expect(new Set(PROFILES.map(({ name }) => name)).size).toBe(PROFILES.length);
  for (const { attend } of PROFILES) {
    const dims = attend.tiles.map((row) => row.dims);
    expect(dims).toEqual(dims.toSorted((a, b) => a - b));
    expect(dims.at(-1)).toBe(Infinity);
  }
});
