// Weights whose blocks of codes run across the ends of rows: they become f16 numbers.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import type { TensorEntry } from '../../../src/files/checkpoint/safetensors.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { memorySource } from '../../files/memory-source.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { Random } from '../../kernels/compute.ts';
import { columnsOf, packStored, randomBlocks } from '../../kernels/stored.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

/** Rows of 320 values, 1¼ blocks; more than are read at once. */
const [ROWS, K] = [64, 320];

describe.each(['q4_k', 'q6_k', 'q8_0', 'iq4_xs'] as const)('a matrix in %s', (type) => {
  const { blocks } = randomBlocks(type, (ROWS * K) / 256, 256, new Random(3));
  const tensors = new Map([
    [
      'x.weight',
      {
        name: 'x.weight',
        dtype: `FLAT_${type.toUpperCase()}`,
        shape: [ROWS, K],
        source: memorySource('m.gguf', blocks),
        offset: 0,
        bytes: blocks.length,
      } as TensorEntry,
    ],
  ]);

  it('has the values of its blocks in order', async () => {
    const weights = openWeights(device, tensors, (table) => table.matrix('x.weight', ROWS, K), {
      format: null,
    });
    expect(weights.formats).toEqual(['f16']);
    await weights.load();
    const found = (await columnsOf(device, weights.page)).flatMap((row) => [...row]);
    const matrix = packStored(device, type, { rows: (ROWS * K) / 256, k: 256, blocks }, { format: 'f32' });
    const wanted = (await columnsOf(device, matrix)).flatMap((row) => [...row]);
    expect(found).toHaveLength(ROWS * K);
    // An adapter rounds to f16 in its own way.
    const differing = wanted.filter(
      (value, i) => Math.abs(found[i]! - value) > 2 ** -10 * Math.abs(value) + 2 ** -24,
    );
    expect(differing).toEqual([]);
    expect(new Set(wanted).size).toBeGreaterThan(100);
    weights.free();
  });
});
