// Weights of MLX folders: the goldens of scripts/reference/mlx_weights.py, and experts that MLX stacks.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { foldCoded } from '../../../src/files/coded/fold.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Matrix } from '../../../src/kernels/matrix.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { memorySource } from '../../files/memory-source.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { columnsOf } from '../../kernels/stored.ts';
import { openCodedGolden } from '../../files/coded/coded-golden.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

const caseOf = await openCodedGolden('mlx-weights');

const fold = (tensors: Map<string, TensorEntry>, settings: Record<string, unknown>) =>
  foldCoded(tensors, { method: 'MLX', settings });

async function load(
  tensors: Map<string, TensorEntry>,
  page: (weights: WeightTable) => Matrix,
): Promise<Matrix> {
  const before = device.memoryUsed;
  const weights = openWeights(device, tensors, page, { format: null });
  expect(device.memoryUsed - before).toBe(weights.plan.bytes);
  await weights.load();
  return weights.page;
}

describe('values of MLX weights', () => {
  it.each([
    ['a4', 4, 64, 'affine4_64_bf16'],
    ['a4half', 4, 64, 'affine4_64_f16'],
    ['a4small', 4, 32, 'affine4_32_bf16'],
    ['a4smallhalf', 4, 32, 'affine4_32_f16'],
    ['a4large', 4, 128, 'affine4_128_bf16'],
    ['a4largehalf', 4, 128, 'affine4_128_f16'],
    ['a8', 8, 64, 'affine8_64_bf16'],
    ['a8half', 8, 64, 'affine8_64_f16'],
    ['a8small', 8, 32, 'affine8_32_bf16'],
    ['a8smallhalf', 8, 32, 'affine8_32_f16'],
    ['a8large', 8, 128, 'affine8_128_bf16'],
    ['a8largehalf', 8, 128, 'affine8_128_f16'],
    ['mxfp4', 4, 32, 'mxfp4'],
  ])('%s', async (name, bits, group, format) => {
    const { tensors: stored, values, rows, k } = caseOf(name);
    const mode = name === 'mxfp4' ? { mode: 'mxfp4' } : {};
    const tensors = fold(stored, { bits, group_size: group, ...mode });
    expect([...tensors.keys()]).toEqual(mode.mode ? ['w.weight_scale', 'w.weight'] : ['w.weight']);
    const matrix = await load(tensors, (weights) => weights.embedding('w.weight', rows, k));
    expect(matrix.formats.map((each) => each.name)).toEqual([format]);
    const found = (await columnsOf(device, matrix)).flatMap((column) => [...column]);
    expect(found.filter((value, i) => value !== values[i])).toEqual([]);
  });
});

const EXPERTS = 3;

/** A golden's tensors as those of the last of three experts; the others are zeros. */
async function stack(block: string, projections: readonly string[]): Promise<Map<string, TensorEntry>> {
  const stacked = new Map<string, TensorEntry>();
  for (const projection of projections) {
    for (const [name, { dtype, shape, source, offset, bytes }] of caseOf('a4').tensors) {
      const data = new Uint8Array(EXPERTS * bytes);
      data.set(await source.read(offset, bytes), (EXPERTS - 1) * bytes);
      const own = `${block}.switch_mlp.${projection}.${name.split('.').at(-1)}`;
      const place = { source: memorySource('stacked', data), offset: 0, bytes: data.length };
      stacked.set(own, { name: own, dtype, shape: [EXPERTS, ...shape], ...place });
    }
  }
  return stacked;
}

describe('stacked experts of MLX', () => {
  it.each([
    ['mlp', ['gate_proj', 'down_proj'], ['gate_proj', 'down_proj']],
    ['block_sparse_moe', ['gate_proj', 'up_proj', 'down_proj'], ['w1', 'w3', 'w2']],
  ])('of %s are read one by one, by the settings of all', async (block, projections, names) => {
    const own = projections.map((each) => [`l.${block}.switch_mlp.${each}`, { bits: 4, group_size: 64 }]);
    const settings = { bits: 8, group_size: 32, ...Object.fromEntries(own) };
    const tensors = fold(await stack(`l.${block}`, projections), settings);
    const nameOf = (name: string, expert: number): string => `l.${block}.experts.${expert}.${name}.weight`;
    expect([...tensors.keys()].sort()).toEqual(
      names.flatMap((name) => [0, 1, 2].map((expert) => nameOf(name, expert))).sort(),
    );
    const { values, rows, k } = caseOf('a4');
    for (const [expert, wanted] of [new Float32Array(values.length), values].entries()) {
      const name = nameOf(names.at(-1)!, 1 + expert);
      const one = new Map([[name, tensors.get(name)!]]);
      const matrix = await load(one, (weights) => weights.embedding(name, rows, k));
      const found = (await columnsOf(device, matrix)).flatMap((column) => [...column]);
      expect(found.filter((value, i) => value !== wanted[i])).toEqual([]);
    }
  });
});
