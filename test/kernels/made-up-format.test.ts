// A weight format that exists only here: a row, the shader that reads it and the shader that packs it. Matmuls, embeddings, planning and
// loading take it as they take those that are built in.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openWeights } from '../../src/engine/weights/weights.ts';
import type { TensorEntry } from '../../src/files/tensors/safetensors.ts';
import type { Device } from '../../src/gpu/device.ts';
import type { WeightFormat } from '../../src/kernels/formats.ts';
import { linear } from '../../src/kernels/matmul.ts';
import { memorySource } from '../files/memory-source.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

const MADE_UP: WeightFormat = {
  name: 'int4-minimum',
  bits: 4,
  step: 8,
  scale: { block: 32, bytes: 8 },
  rule: 'minimum + scale · code',
  sources: ['f32'],
  packing: 'quantise',
  integers: false,
  tallTiles: true,
};

function withFormat(device: Device): Device {
  for (const kind of ['weights', 'codes']) {
    const text = readFileSync(new URL(`made-up/${kind}.wgsl`, import.meta.url), 'utf8');
    device.addShader(`${kind}/${MADE_UP.name}.wgsl`, text);
  }
  return device;
}

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** Values that the format holds exactly: a minimum and multiples of a power of two above it, in each block of 32 k's. */
function gridWeights(rows: number, k: number, random: Random): Float32Array {
  const values = new Float32Array(rows * k);
  for (let row = 0; row < rows; row++) {
    for (let block = 0; block < k; block += 32) {
      const scale = 2 ** -(5 + random.integer(3));
      const minimum = scale * (random.integer(21) - 18);
      for (let i = 0; i < 32; i++) values[row * k + block + i] = minimum + scale * random.integer(16);
      values[row * k + block] = minimum;
      values[row * k + block + 31] = minimum + 15 * scale;
    }
  }
  return values;
}

function checkpoint(name: string, shape: number[], values: Float32Array): Map<string, TensorEntry> {
  const source = memorySource(name, new Uint8Array(values.buffer));
  return new Map([[name, { name, dtype: 'F32', shape, source, offset: 0, bytes: values.byteLength }]]);
}

it.each([
  ['few rows', 3, {}],
  ['whole tiles', 40, {}],
  ['whole tiles on a GPU', 40, { profile: 'discrete' }],
  ['windows', 5, { bindingLimit: 8 << 10 }],
  ['no subgroups', 17, { portable: true }],
] as const)('a matmul in a made-up format agrees with sums of its weights: %s', async (_, rows, as) => {
  const [n, k] = [67, 128];
  const random = new Random(rows);
  const on = withFormat(disguise(device, as));
  const values = gridWeights(n, k, random);
  const weights = openWeights(on, checkpoint('w', [n, k], values), (table) => table.matrix('w', n, k), {
    format: MADE_UP,
  });
  await weights.load();
  expect(weights.page.windows[0].format.name).toBe('int4-minimum');
  const x = random.floats(rows * k);
  const y = await compute({
    device: on,
    capacity: { rows },
    sizes: { rows },
    record: (_tape, input) => linear(input(['rows', k], x), weights.page),
  });
  let worst = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < n; column++) {
      let sum = 0;
      for (let i = 0; i < k; i++) sum += x[row * k + i]! * values[column * k + i]!;
      const error = Math.abs(y[row]![column]! - sum);
      worst = error <= worst ? worst : Number.isNaN(error) ? Infinity : error;
    }
  }
  expect(worst).toBeLessThan(1e-4);
  // 4 bits and two f32 for 32 k's, in whole pairs of groups of 32 columns.
  expect(weights.plan.bytes).toBe(128 * ((k * 4) / 8 + (k / 32) * 8));
  weights.free();
  expect(on.takeError()).toBeNull();
});
