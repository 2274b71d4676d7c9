// Weights that a checkpoint stores in codes: matrices whose parts differ, planned bytes, and what is refused.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TensorHeader } from '../../../src/engine/weights/check.ts';
import { chooseQuantization, weightBytesIn } from '../../../src/engine/weights/quantization.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { FORMATS } from '../../../src/kernels/formats.ts';
import { linear, linearSwiglu } from '../../../src/kernels/matmul.ts';
import type { Matrix } from '../../../src/kernels/matrix.ts';
import type { PackedName } from '../../../src/kernels/formats.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { memorySource } from '../../files/memory-source.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { compute, differingRows, Random } from '../../kernels/compute.ts';
import { columnsOf, packStored, randomBlocks } from '../../kernels/stored.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

const K = 256;
type Tensors = Map<string, TensorEntry>;

function entry(name: string, dtype: string, shape: number[], bytes: Uint8Array): TensorEntry {
  const source = memorySource(`${name}.gguf`, bytes);
  return { name, dtype, shape, source, offset: 0, bytes: bytes.length } as unknown as TensorEntry;
}

/** Tensors [rows, K] by name and type. */
function checkpoint(parts: readonly (readonly [name: string, type: PackedName, rows: number])[]): Tensors {
  const random = new Random(parts.length);
  return new Map(
    parts.map(([name, type, rows]) => [
      name,
      entry(name, type.toUpperCase(), [rows, K], randomBlocks(type, rows, K, random).blocks),
    ]),
  );
}

const bytesOf = async (of: TensorEntry): Promise<Uint8Array> => of.source.read(of.offset, of.bytes);

async function load<Page>(tensors: Tensors, page: (weights: WeightTable) => Page, on: Device = device) {
  const before = on.memoryUsed;
  const weights = openWeights(on, tensors, page, { format: null });
  expect(on.memoryUsed - before).toBe(weights.plan.bytes);
  await weights.load();
  return weights.page;
}

const formatsOf = ({ windows }: Matrix): [string, number][] =>
  windows.map(({ format, groups }) => [format.name, groups]);

/** Rows of tensors as f32, one after the other. */
async function rowsOf(tensors: Tensors): Promise<Float32Array[]> {
  const all: Float32Array[] = [];
  for (const of of tensors.values()) {
    const name = of.dtype.toLowerCase() as PackedName;
    const blocks = await bytesOf(of);
    const matrix = packStored(device, name, { rows: of.shape[0]!, k: K, blocks }, { format: 'f32' });
    all.push(...(await columnsOf(device, matrix)));
  }
  return all;
}

const multiply = (on: Device, matrix: Matrix, x: Float32Array, by = linear) =>
  compute({
    device: on,
    capacity: { rows: 2 },
    sizes: { rows: 2 },
    record: (_, input) => by(input(['rows', K], x), matrix),
  });

describe('parts of one matrix that are stored in different formats', () => {
  const attention = (v: number) =>
    checkpoint([
      ['q.weight', 'q4_k', 64],
      ['k.weight', 'q4_k', v],
      ['v.weight', 'q6_k', v],
    ]);
  const page = (v: number) => (weights: WeightTable) =>
    weights.stacked(
      [
        { name: 'q.weight', rows: 64 },
        { name: 'k.weight', rows: v },
        { name: 'v.weight', rows: v },
      ],
      K,
    );

  it.each([
    [
      'keep them where each begins with a group of columns',
      32,
      [
        ['q4_k', 3],
        ['q6_k', 1],
      ],
      {},
    ],
    [
      'keep them in windows',
      32,
      [
        ['q4_k', 2],
        ['q4_k', 1],
        ['q6_k', 1],
      ],
      { bindingLimit: 8192 },
    ],
    ['are f32 elsewhere', 16, [['f32', 4]], {}],
  ] as const)('%s', async (_, v, formats, as) => {
    const tensors = attention(v);
    const on = disguise(device, as);
    const matrix = await load(tensors, page(v), on);
    expect(formatsOf(matrix)).toEqual(formats);
    const columns = await rowsOf(tensors);
    if (on === disguise(device, {})) expect(differingRows(await columnsOf(on, matrix), columns)).toEqual([]);
    const x = new Random(1).floats(2 * K);
    const y = await multiply(on, matrix, x);
    y.forEach((sums, row) =>
      columns.forEach((weight, column) => {
        const wanted = weight.reduce((sum, w, i) => sum + w * x[row * K + i]!, 0);
        expect(Math.abs(sums[column]! - wanted)).toBeLessThan(1e-3);
      }),
    );
  });

  it('are f32 where gate and up are interleaved, and keep a format that they share', async () => {
    const x = new Random(2).floats(2 * K);
    const asked = (weights: WeightTable): Matrix => weights.gateUp('gate.weight', 'up.weight', 40, K);
    const pair = (type: PackedName) =>
      checkpoint([
        ['gate.weight', 'q4_k', 40],
        ['up.weight', type, 40],
      ]);
    const mixed = await load(pair('q5_0'), asked);
    expect(formatsOf(mixed)).toEqual([['f32', 4]]);
    const alike = await load(pair('q4_k'), asked);
    expect(formatsOf(alike)).toEqual([['q4_k', 4]]);
    for (const matrix of [mixed, alike]) {
      const columns = await columnsOf(device, matrix);
      const y = await multiply(device, matrix, x, linearSwiglu);
      const dot = (row: number, column: number): number =>
        columns[column]!.reduce((sum, w, i) => sum + w * x[row * K + i]!, 0);
      for (let i = 0; i < 40; i++) {
        const column = 4 * Math.floor(i / 2) + (i % 2);
        const gate = dot(1, column);
        const wanted = (gate / (1 + Math.exp(-gate))) * dot(1, column + 2);
        expect(Math.abs(y[1]![i]! - wanted)).toBeLessThan(1e-3 * (1 + Math.abs(wanted)));
      }
    }
  });

  it('keep them from expert to expert', async () => {
    const tensors = checkpoint([
      ['a', 'q4_k', 40],
      ['b', 'q6_k', 40],
      ['c', 'q6_k', 40],
    ]);
    const matrix = await load(tensors, (weights) => weights.experts([...tensors.keys()], 40, K));
    expect(formatsOf(matrix)).toEqual([
      ['q4_k', 2],
      ['q6_k', 4],
    ]);
  });
});

it('vectors and tables are f32 of the codes', async () => {
  const tensors = checkpoint([['table', 'q8_0', 3]]);
  const table = await load(tensors, (weights) => weights.table('table', 3, K));
  const values = new Float32Array(await device.read(table.region!));
  (await rowsOf(tensors)).forEach((row, i) =>
    row.forEach((value, column) => expect((values[i * table.stride + column] ?? NaN) === value).toBe(true)),
  );
});

describe('stored codes are refused', () => {
  const page = (weights: WeightTable): Matrix => weights.matrix('w.weight', 4, K);
  const tensors = (): Tensors => checkpoint([['w.weight', 'q4_k', 4]]);

  it('a quantization of codes, which auto does not choose', async () => {
    expect(() => openWeights(device, tensors(), page, { format: FORMATS.int4 })).toThrow(
      /quantized already \(w.weight is Q4_K\).*int4/,
    );
    const note = (): void => {};
    const bytesIn = weightBytesIn(device, tensors(), page);
    expect(bytesIn.choices).toEqual(['none']);
    await expect(chooseQuantization(device, 'int8', bytesIn, note)).rejects.toThrow(/quantized already/);
    expect(await chooseQuantization(device, 'auto', bytesIn, note)).toBe('none');
    const small = disguise(device, { memoryBudget: 1000 });
    const bytesInSmall = weightBytesIn(small, tensors(), page);
    await expect(chooseQuantization(small, 'auto', bytesInSmall, note)).rejects.toThrow(
      /weights need .* as they are stored/,
    );
  });

  it('rows that are not whole blocks', () => {
    const header = { name: 'w.weight', dtype: 'Q4_K', shape: [4, 96] } as unknown as TensorHeader;
    const short = new Map([['w.weight', header as TensorEntry]]);
    expect(() =>
      openWeights(device, short, (weights) => weights.matrix('w.weight', 4, 96), { format: null }),
    ).toThrow(/w.weight has rows of 96 values, and Q4_K stores blocks of 256/);
  });

  it.each([
    ['q4_k', 2 * 144 + 2],
    ['q6_k', 3 * 210 + 208],
  ] as const)('%s blocks with a scale that is NaN', async (type, at) => {
    const damaged = checkpoint([['w.weight', type, 4]]);
    const bytes = await bytesOf(damaged.get('w.weight')!);
    new DataView(bytes.buffer, bytes.byteOffset).setUint16(at, 0x7e00, true);
    const entries: Tensors = new Map([['w.weight', entry('w.weight', type.toUpperCase(), [4, K], bytes)]]);
    await expect(openWeights(device, entries, page, { format: null }).load()).rejects.toThrow(
      /tensor w.weight of .* has 1 scale that is NaN or infinite among its \d: /,
    );
  });
});
