// Weights of bitsandbytes: the goldens of scripts/reference/bitsandbytes_weights.py, and values that are refused.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { readCoded } from '../../../src/files/coded/fold.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Matrix } from '../../../src/kernels/matrix.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { columnsOf } from '../../kernels/stored.ts';
import { changed, openCodedGolden } from '../../files/coded/coded-golden.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

const caseOf = await openCodedGolden('bitsandbytes-weights');
const SETTINGS = { method: 'bitsandbytes', settings: { quant_method: 'bitsandbytes' } };

async function load(stored: Map<string, TensorEntry>, rows: number, k: number): Promise<Matrix> {
  const tensors = await readCoded(stored, SETTINGS);
  expect([...tensors.keys()]).toEqual(['w.weight']);
  const before = device.memoryUsed;
  const page = openWeights(device, tensors, (weights) => weights.matrix('w.weight', rows, k), {
    format: null,
  });
  expect(device.memoryUsed - before).toBe(page.plan.bytes);
  await page.load();
  return page.page;
}

describe('values of bitsandbytes weights', () => {
  it.each([
    ['nf4', 'nf4_64'],
    ['nf4nested', 'nf4_64'],
    ['nf4wide', 'nf4_64'],
    ['nf4across', 'nf4_32'],
    ['nf4acrossnested', 'nf4_64'],
    ['fp4', 'fp4_64'],
    ['fp4across', 'fp4_32'],
    ['int8', 'i8_128'],
    ['int8narrow', 'i8_32'],
  ])('%s', async (name, format) => {
    const { tensors, values, rows, k } = caseOf(name);
    const matrix = await load(tensors, rows, k);
    expect(matrix.formats.map((each) => each.name)).toEqual([format]);
    const columns = await columnsOf(device, matrix);
    const found = columns.flatMap((column) => [...column]);
    expect(found.filter((value, i) => value !== values[i])).toEqual([]);
  });
});

it('codes of bitsandbytes may be stored as numbers of another type, whose bytes they are', async () => {
  const { tensors, values, rows, k } = caseOf('nf4');
  const matrix = await load(changed(tensors, 'w.weight', { dtype: 'BF16', shape: [2048, 1] }), rows, k);
  const found = (await columnsOf(device, matrix)).flatMap((column) => [...column]);
  expect(found.filter((value, i) => value !== values[i])).toEqual([]);
});

it.each(['nf4', 'nf4nested', 'nf4across', 'nf4acrossnested'])(
  'scales of %s are read from any row on',
  async (name) => {
    const { scales } = (await readCoded(caseOf(name).tensors, SETTINGS)).get('w.weight')!.coded!;
    const { source, offset, bytes } = scales;
    const whole = await source.read(offset, bytes);
    for (const [first, length] of [
      [0, 4],
      [20, 36],
      [bytes - 8, 8],
    ] as const)
      expect(await source.read(offset + first, length)).toEqual(whole.slice(first, first + length));
  },
);

const { tensors: nf4 } = caseOf('nf4');

describe('damaged bitsandbytes weights are refused when they are read', () => {
  it('with another table', async () => {
    const map = new Uint8Array(new Float32Array(16).fill(0.5).buffer);
    const tensors = changed(nf4, 'w.weight.quant_map', { data: map });
    await expect(load(tensors, 32, 256)).rejects.toThrow(
      /quant_map of changed says that code 0 is 0\.5, and in nf4 it is -1/,
    );
  });

  it('with a scale that is not finite', async () => {
    const scales = new Float32Array(128).fill(1);
    scales[77] = Infinity;
    const tensors = changed(nf4, 'w.weight.absmax', { data: new Uint8Array(scales.buffer) });
    await expect(load(tensors, 32, 256)).rejects.toThrow(
      /w\.weight\.absmax of changed has 1 value that is NaN or infinite/,
    );
  });
});
