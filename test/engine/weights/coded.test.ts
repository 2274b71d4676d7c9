// Weights that GPTQ, AWQ and compressed-tensors hold in several tensors: the goldens of scripts/reference/coded_weights.py.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { foldCoded, readCoded } from '../../../src/files/coded/fold.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Matrix } from '../../../src/kernels/matrix.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { linear } from '../../../src/kernels/matmul.ts';
import { memorySource } from '../../files/memory-source.ts';
import { compute } from '../../kernels/compute.ts';
import { columnsOf } from '../../kernels/stored.ts';
import { changed } from '../../files/coded/coded-golden.ts';
import { settingsOf, unfolded } from './coded-weights-golden.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

type Tensors = Map<string, TensorEntry>;

/** A case's tensors, folded by its settings, and the values that its method's own code gives. */
async function caseOf(name: string): Promise<{ tensors: Tensors; values: Float32Array }> {
  const { tensors, values } = unfolded(name);
  return { tensors: await readCoded(tensors, settingsOf(name)), values };
}

async function load(
  tensors: Tensors,
  page: (weights: WeightTable) => Matrix,
  on: Device = device,
): Promise<Matrix> {
  const before = on.memoryUsed;
  const weights = openWeights(on, tensors, page, { format: null });
  expect(on.memoryUsed - before).toBe(weights.plan.bytes);
  await weights.load();
  return weights.page;
}

/** Within one unit in the last place of f32. */
function expectNear(value: number, wanted: number): void {
  expect(Math.abs(value - wanted)).toBeLessThanOrEqual(2 ** -23 * Math.abs(wanted));
}

describe('values of coded weights are those of the methods themselves', () => {
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
    const { tensors, values } = await caseOf(name);
    expect([...tensors.keys()]).toEqual(['w.weight']);
    const [rows, k] = tensors.get('w.weight')!.shape as [number, number];
    const matrix = await load(tensors, (weights) => weights.matrix('w.weight', rows, k));
    expect(matrix.formats.map((each) => each.name)).toEqual([format]);
    const columns = await columnsOf(device, matrix);
    columns.forEach((column, row) => column.forEach((value, i) => expectNear(value, values[row * k + i]!)));
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

describe('inputs of coded weights in another order (g_idx)', () => {
  it.each(['gptq4order', 'gptq8order', 'packed4order'])('%s', async (name) => {
    const { tensors, values } = await caseOf(name);
    const [rows, k] = tensors.get('w.weight')!.shape as [number, number];
    const matrix = await load(tensors, (weights) => weights.matrix('w.weight', rows, k));
    const y = await throughMatmul(matrix, k);
    y.forEach((row, i) => row.forEach((value, column) => expectNear(value, values[column * k + i]!)));
  });
});

/** Fields of `bits` of a tensor's words, [row words, columns], as signed bytes [rows, columns]. */
async function signedBytes({ source, offset, bytes, shape }: TensorEntry, bits: number): Promise<Uint8Array> {
  const words = new Uint32Array((await source.read(offset, bytes)).slice().buffer);
  const [outer, columns] = shape as [number, number];
  const per = 32 / bits;
  return Uint8Array.from({ length: outer * per * columns }, (_, at) => {
    const [row, column] = [Math.floor(at / columns), at % columns];
    const field = (words[Math.floor(row / per) * columns + column]! >>> (bits * (row % per))) % 2 ** bits;
    return field - 2 ** (bits - 1);
  });
}

describe('zero points in bytes', () => {
  it.each([
    ['packed4zeros', 4],
    ['packed8zeros', 8],
  ] as const)('%s', async (name, bits) => {
    const { tensors: stored, values } = unfolded(name);
    const zeros = stored.get('w.weight_zero_point')!;
    const shape = [(zeros.shape[0]! * 32) / bits, zeros.shape[1]!];
    const data = await signedBytes(zeros, bits);
    const tensors = changed(stored, 'w.weight_zero_point', { dtype: 'I8', shape, data });
    const folded = foldCoded(tensors, settingsOf(name));
    const [rows, k] = folded.get('w.weight')!.shape as [number, number];
    const matrix = await load(folded, (weights) => weights.matrix('w.weight', rows, k));
    const columns = await columnsOf(device, matrix);
    columns.forEach((column, row) => column.forEach((value, i) => expectNear(value, values[row * k + i]!)));
  });
});

it('two halves of one coded tensor alternate, and experts follow one another', async () => {
  const { tensors, values } = await caseOf('gptq4');
  const [rows, k] = tensors.get('w.weight')!.shape as [number, number];
  const halves = await load(tensors, (weights) => weights.halves('w.weight', rows / 2, k));
  (await columnsOf(device, halves)).forEach((column, at) => {
    const row = 2 * Math.floor(at / 4) + (at % 2) + (at % 4 < 2 ? 0 : rows / 2);
    column.forEach((value, i) => expectNear(value, values[row * k + i]!));
  });
  const other = { ...tensors.get('w.weight')!, name: 'v.weight' };
  const both = new Map([...tensors, ['v.weight', other]]);
  const experts = await load(both, (weights) => weights.experts(['w.weight', 'v.weight'], rows, k));
  expect(experts.windows.map(({ groups, format }) => [groups, format.name])).toEqual([[4, 'u4_32']]);
});

/** Tensors of AWQ whose outputs stand `times` times beside one another. */
async function repeatedOutputs(stored: Tensors, times: number): Promise<Tensors> {
  const entries = [...stored.values()].map(async (entry): Promise<[string, TensorEntry]> => {
    const [outer, columns] = entry.shape as [number, number];
    const bytes = await entry.source.read(entry.offset, entry.bytes);
    const row = bytes.length / outer;
    const data = new Uint8Array(times * bytes.length);
    for (let at = 0; at < times * outer; at++)
      data.set(bytes.subarray(Math.floor(at / times) * row, Math.floor(at / times) * row + row), at * row);
    const source = memorySource('repeated', data);
    const shape = [outer, times * columns];
    return [entry.name, { ...entry, shape, source, offset: 0, bytes: data.length }];
  });
  return new Map(await Promise.all(entries));
}

it('chunks of a tensor that two parts read end at words of inputs', async () => {
  const { tensors: stored, values, rows: once, k } = unfolded('awq');
  const tensors = await readCoded(await repeatedOutputs(stored, 3), settingsOf('awq'));
  const rows = 3 * once;
  // There is room for 45 inputs, and eight of them are a word.
  const narrow = disguise(device, { bindingLimit: 17 << 8 });
  const halves = await load(tensors, (weights) => weights.halves('w.weight', rows / 2, k), narrow);
  for (let at = 0; at < rows; at += 7) {
    const [column] = await columnsOf(narrow, halves, { first: at, count: 1 });
    const row = 2 * Math.floor(at / 4) + (at % 2) + (at % 4 < 2 ? 0 : rows / 2);
    column!.forEach((value, i) => expectNear(value, values[(row % once) * k + i]!));
  }
});

describe('coded parts whose inputs are in different orders', () => {
  const sources = ['gptq4order', 'packed4order', 'gptq4v2'];
  const [rows, k] = [64, 256];

  /** Tensors by those names, the last of them as numbers. */
  async function parts(): Promise<{ tensors: Tensors; values: Float32Array[] }> {
    const cases = await Promise.all(sources.map(caseOf));
    const tensors = cases.map(({ tensors: own, values }, i): [string, TensorEntry] => {
      const name = `${sources[i]}.weight`;
      if (i < 2) return [name, { ...own.get('w.weight')!, name }];
      const source = memorySource('numbers', new Uint8Array(values.buffer));
      return [name, { name, dtype: 'F32', shape: [rows, k], source, offset: 0, bytes: values.byteLength }];
    });
    return { tensors: new Map(tensors), values: cases.map(({ values }) => values) };
  }

  it('each multiplies its own, one after another and in turns', async () => {
    const { tensors, values } = await parts();
    const names = [...tensors.keys()];
    const stacked = await load(tensors, (weights) =>
      weights.stacked(
        names.map((name) => ({ name, rows })),
        k,
      ),
    );
    expect(stacked.formats.map(({ name }) => name)).toEqual(['u4_64', 'f32']);
    const y = await throughMatmul(stacked, k);
    y.forEach((row, i) =>
      row.forEach((value, column) =>
        expectNear(value, values[Math.floor(column / rows)]![(column % rows) * k + i]!),
      ),
    );
    const turns = await load(tensors, (weights) => weights.gateUp(names[0]!, names[1]!, rows, k));
    const z = await throughMatmul(turns, k);
    z.forEach((row, i) =>
      row.forEach((value, column) => {
        const at = 2 * Math.floor(column / 4) + (column % 2);
        expectNear(value, values[column % 4 < 2 ? 0 : 1]![at * k + i]!);
      }),
    );
  });

  it('are read of matrices, not of experts and embeddings', async () => {
    const { tensors } = await parts();
    const names = sources.slice(0, 2).map((name) => `${name}.weight`);
    await expect(load(tensors, (weights) => weights.experts(names, rows, k))).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('not read of experts') as string,
    });
    await expect(load(tensors, (weights) => weights.embedding(names[0]!, rows, k))).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('not read of embeddings') as string,
    });
  });

  const cases: [string, (groups: Int32Array) => void, string][] = [
    [
      'a group that is not there',
      (groups) => void (groups[7] = 4),
      'puts input 7 into group 4, and there are 4',
    ],
    ['a group below 0', (groups) => void (groups[0] = -1), 'puts input 0 into group -1'],
    ['groups of other sizes', (groups) => void (groups[0] = 1), 'puts more inputs into group 1 than the 64'],
  ];
  it.each(cases)('coded weights with %s are damaged', async (_, change, message) => {
    const groups = Int32Array.from({ length: k }, (_group, i) => i % 4);
    change(groups);
    const data = new Uint8Array(groups.buffer);
    const tensors = changed(unfolded('gptq4order').tensors, 'w.g_idx', { data });
    await expect(readCoded(tensors, settingsOf('gptq4order'))).rejects.toMatchObject({
      code: 'bad_checkpoint',
      message: expect.stringContaining(`tensor w.g_idx ${message}`) as string,
    });
  });
});

it('rows in codes are read of matrices only', async () => {
  const { tensors } = await caseOf('gptq4');
  const read = (page: (weights: WeightTable) => unknown): unknown =>
    openWeights(device, tensors, page, { format: null });
  for (const page of [
    (weights: WeightTable) => weights.table('w.weight', 64, 256),
    (weights: WeightTable) => weights.expertTurns(['w.weight'], 32, 256),
  ])
    expect(() => read(page)).toThrow('tensor w.weight is stored in codes with scales of their own');
});

it('a bias that no page reads is accepted beside codes only if it is zero', async () => {
  const { tensors } = await caseOf('gptq4');
  const bias = (value: number): Tensors => {
    const data = new Uint8Array(128).fill(value);
    const own = { ...tensors.get('w.weight')!, name: 'w.bias', dtype: 'F16' as const, shape: [64] };
    delete own.coded;
    return changed(new Map([...tensors, ['w.bias', own]]), 'w.bias', { data });
  };
  const page = (weights: WeightTable): Matrix => weights.matrix('w.weight', 64, 256);
  expect(await load(bias(0), page)).toBeDefined();
  await expect(load(bias(1), page)).rejects.toThrow('tensor w.bias is not zero');
});
