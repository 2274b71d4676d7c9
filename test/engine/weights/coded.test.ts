// Weights that GPTQ, AWQ and compressed-tensors hold in several tensors: the goldens of scripts/reference/coded_weights.py.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { readSafetensors, type TensorEntry } from '../../../src/files/checkpoint/safetensors.ts';
import { foldCoded } from '../../../src/files/coded/fold.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Matrix } from '../../../src/kernels/matrix.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { memorySource } from '../../files/memory-source.ts';
import { openTestDevice } from '../../gpu/test-device.ts';
import { linear } from '../../../src/kernels/matmul.ts';
import { compute } from '../../kernels/compute.ts';
import { columnsOf } from '../../kernels/stored.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const file = readFileSync(new URL('../../golden/coded-weights.safetensors', import.meta.url));
const { tensors: stored, metadata } = await readSafetensors(memorySource('golden', file));

type Tensors = Map<string, TensorEntry>;

/** A case's tensors as those of module `w`, folded by its settings, and the values that its method's own code gives. */
function caseOf(name: string): { tensors: Tensors; values: Float32Array } {
  const settings = JSON.parse(metadata[name]!) as Record<string, unknown>;
  const { offset, bytes } = stored.get(`${name}.values`)!;
  const own = [...stored.values()].flatMap((entry): [string, TensorEntry][] => {
    const [of, tensor] = entry.name.split('.');
    if (of !== name || tensor === 'values') return [];
    return [[`w.${tensor}`, { ...entry, name: `w.${tensor}` }]];
  });
  const tensors = foldCoded(new Map(own), { method: String(settings['quant_method']), settings });
  return { tensors, values: new Float32Array(Uint8Array.from(file.subarray(offset, offset + bytes)).buffer) };
}

async function load(tensors: Tensors, page: (weights: WeightTable) => Matrix): Promise<Matrix> {
  const before = device.memoryUsed;
  const weights = openWeights(device, tensors, page, { format: null });
  expect(device.memoryUsed - before).toBe(weights.plan.bytes);
  await weights.load();
  return weights.page;
}

describe('values are those of the methods themselves', () => {
  it.each([
    ['gptq4', 'u4_32'],
    ['gptq4v2', 'u4_128'],
    ['gptq8', 'u8_64'],
    ['gptq8whole', 'u8_128'],
    ['awq', 'u4_128'],
    ['awq32', 'u4_32'],
    ['packed4', 'u4_128'],
    ['packed4zeros', 'u4_32'],
    ['packed8', 'u8_128'],
    ['packed8zeros', 'u8_128'],
  ])('%s', async (name, format) => {
    const { tensors, values } = caseOf(name);
    expect([...tensors.keys()]).toEqual(['w.weight']);
    const [rows, k] = tensors.get('w.weight')!.shape as [number, number];
    const matrix = await load(tensors, (weights) => weights.matrix('w.weight', rows, k));
    expect(matrix.formats.map((each) => each.name)).toEqual([format]);
    const columns = await columnsOf(device, matrix);
    columns.forEach((column, row) =>
      column.forEach((value, i) => {
        const wanted = values[row * k + i]!;
        expect(Math.abs(value - wanted)).toBeLessThanOrEqual(2 ** -23 * Math.abs(wanted));
      }),
    );
  });
});

/** One row of x for each input: y is the matrix, transposed. */
async function throughMatmul(matrix: Matrix, k: number): Promise<Float32Array[]> {
  const x = Float32Array.from({ length: k * k }, (_, i) => Number(i % (k + 1) === 0));
  return compute({
    device,
    capacity: { rows: k },
    sizes: { rows: k },
    record: (_, input) => linear(input(['rows', k], x), matrix),
  });
}

describe('inputs in another order (g_idx)', () => {
  it.each(['gptq4order', 'gptq8order', 'packed4order'])('%s', async (name) => {
    const { tensors, values } = caseOf(name);
    const [rows, k] = tensors.get('w.weight')!.shape as [number, number];
    const matrix = await load(tensors, (weights) => weights.matrix('w.weight', rows, k));
    const y = await throughMatmul(matrix, k);
    y.forEach((row, i) =>
      row.forEach((value, column) => {
        const wanted = values[column * k + i]!;
        expect(Math.abs(value - wanted)).toBeLessThanOrEqual(2 ** -23 * Math.abs(wanted));
      }),
    );
  });
});
