// The choice of a matrix unit by what WebGPU tells of an adapter.

import { expect, it } from 'vitest';
import { chooseMatrixUnit, type MatrixConfig, type MatrixFacts } from '../../src/gpu/matrix-units.ts';

const config = (M: number, N: number, K: number, componentType = 'f16', resultComponentType = 'f32') =>
  ({ componentType, resultComponentType, M, N, K }) satisfies MatrixConfig;

const FEATURES = [
  'chromium-experimental-subgroup-matrix',
  'shader-f16',
  'subgroup-size-control',
  'subgroups',
];

const adapter = (given: Partial<MatrixFacts>): MatrixFacts => ({
  vendor: 'nvidia',
  software: false,
  features: FEATURES,
  languageFeatures: new Set(['subgroup_id', 'subgroup_uniformity']),
  subgroupMinSize: 32,
  subgroupMaxSize: 32,
  configs: [config(16, 16, 16)],
  ...given,
});

it.each([
  [
    'the largest configuration of f16 with results in f32',
    {
      configs: [
        config(16, 8, 8),
        config(16, 16, 16, 'f16', 'f16'),
        config(16, 16, 16),
        config(16, 8, 16),
        config(16, 16, 32, 'i8', 'i32'),
      ],
    },
    { rows: 16, columns: 16, depth: 16, subgroup: 32, pinned: false },
  ],
  [
    'the smaller subgroups of AMD',
    { vendor: 'amd', subgroupMaxSize: 64 },
    { rows: 16, columns: 16, depth: 16, subgroup: 32, pinned: true },
  ],
  [
    'the smallest subgroups of Intel',
    { vendor: 'intel', subgroupMinSize: 8, configs: [config(8, 8, 16)] },
    { rows: 8, columns: 8, depth: 16, subgroup: 8, pinned: true },
  ],
  [
    'the 32 lanes of Apple, which tells 4 to 64',
    {
      vendor: 'apple',
      subgroupMinSize: 4,
      subgroupMaxSize: 64,
      features: FEATURES.filter((name) => name !== 'subgroup-size-control'),
      configs: [config(8, 8, 8, 'f32'), config(8, 8, 8)],
    },
    { rows: 8, columns: 8, depth: 8, subgroup: 32, pinned: false },
  ],
] satisfies [string, Partial<MatrixFacts>, object][])('chooseMatrixUnit() takes %s', (_, given, unit) => {
  expect(chooseMatrixUnit(adapter(given))).toEqual(unit);
});

it.each([
  ['software adapters have none', { software: true }],
  [
    'this WebGPU does not offer chromium-experimental-subgroup-matrix',
    { features: ['shader-f16', 'subgroups'] },
  ],
  ['this WebGPU does not offer subgroup_id, subgroup_uniformity', { languageFeatures: new Set<string>() }],
  [
    'no configuration multiplies f16 into f32 in sizes that divide 32',
    { configs: [config(16, 16, 16, 'f16', 'f16'), config(12, 16, 16)] },
  ],
  [
    'subgroups have 32 to 64 lanes, and this WebGPU does not offer subgroup-size-control',
    { subgroupMaxSize: 64, features: FEATURES.filter((name) => name !== 'subgroup-size-control') },
  ],
] satisfies [string, Partial<MatrixFacts>][])('chooseMatrixUnit() finds none because %s', (reason, given) => {
  expect(chooseMatrixUnit(adapter(given))).toBe(reason);
});
