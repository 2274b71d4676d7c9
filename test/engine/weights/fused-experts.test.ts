// Experts whose matrices stand in one tensor of a layer: codes of MXFP4 with exponents, and numbers stored column by column.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { splitExperts } from '../../../src/files/checkpoint/fused-experts.ts';
import { readSafetensors, type TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { FORMATS } from '../../../src/kernels/formats.ts';
import type { Matrix } from '../../../src/kernels/matrix.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { memorySource } from '../../files/memory-source.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { Random } from '../../kernels/compute.ts';
import { columnsOf } from '../../kernels/stored.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

type Tensors = Map<string, TensorEntry>;

function entry(name: string, dtype: TensorEntry['dtype'], shape: number[], data: Uint8Array): TensorEntry {
  return { name, dtype, shape, source: memorySource(name, data), offset: 0, bytes: data.length };
}

const tensorsOf = (...entries: TensorEntry[]): Tensors => new Map(entries.map((one) => [one.name, one]));

async function load(
  tensors: Tensors,
  page: (weights: WeightTable) => Matrix,
  format: keyof typeof FORMATS | null = null,
): Promise<Matrix> {
  const before = device.memoryUsed;
  const weights = openWeights(device, tensors, page, { format: format && FORMATS[format] });
  expect(device.memoryUsed - before).toBe(weights.plan.bytes);
  await weights.load();
  return weights.page;
}

const [EXPERTS, ROWS, K] = [2, 12, 96];
const names = Array.from({ length: EXPERTS }, (_, i) => `mlp.experts.${i}.gate_up_proj.weight`);
/** Column of row `row` of an expert with `columns` columns: gate and up alternate in the tensor, and in pairs in the matrix. */
const columnOf = (expert: number, row: number, columns: number): number =>
  columns * expert + 4 * Math.floor(row / 4) + [0, 2, 1, 3][row % 4]!;

describe('fused experts in codes of MXFP4', () => {
  const file = readFileSync(new URL('../../golden/mxfp4-experts.safetensors', import.meta.url));
  const bytes = async (name: string): Promise<Uint8Array> => {
    const { offset, bytes: size } = (await readSafetensors(memorySource('golden', file))).tensors.get(name)!;
    return Uint8Array.from(file.subarray(offset, offset + size));
  };
  const fused = (blocks: Uint8Array, scales: Uint8Array, groups = K / 32): Tensors =>
    tensorsOf(
      entry('mlp.experts.gate_up_proj_blocks', 'U8', [EXPERTS, ROWS, K / 32, 16], blocks),
      entry('mlp.experts.gate_up_proj_scales', 'U8', [EXPERTS, ROWS, groups], scales),
    );
  const page = (weights: WeightTable): Matrix => weights.expertTurns(names, ROWS / 2, K);

  it('have the values of transformers, but for scales below the smallest normal f32, which are zero', async () => {
    const scales = await bytes('scales');
    const values = new Float32Array((await bytes('values')).buffer);
    const matrix = await load(splitExperts(fused(await bytes('blocks'), scales), 'columns'), page);
    expect(matrix.formats.map(({ name }) => name)).toEqual(['mxfp4']);
    const columns = await columnsOf(device, matrix, { count: 2 * 64 });
    let small = 0;
    for (let expert = 0; expert < EXPERTS; expert++) {
      for (let row = 0; row < ROWS; row++) {
        columns[columnOf(expert, row, 64)]!.forEach((value, k) => {
          const wanted = values[(expert * K + k) * ROWS + row]!;
          const scale = scales[(expert * ROWS + row) * (K / 32) + Math.floor(k / 32)]!;
          if (scale < 2) small += Number(value === 0);
          // Zeros of either sign are equal.
          else expect(value + 0).toBe(wanted + 0);
        });
      }
    }
    expect(small).toBe(64);
  });

  it('are refused with scales that are no numbers, of another shape, of another type, or without them', async () => {
    const [blocks, scales] = [await bytes('blocks'), await bytes('scales')];
    const nan = fused(blocks, scales.with(7, 255));
    await expect(load(splitExperts(nan, 'columns'), page)).rejects.toThrow(
      /experts\.0\.gate_up_proj\.weight_scale .*1 scale that is NaN or infinite/,
    );
    const short = fused(blocks, scales.subarray(0, EXPERTS * ROWS * 2), 2);
    expect(() => splitExperts(short, 'columns')).toThrow(
      /gate_up_proj_blocks has the shape \[2, 12, 3, 16\], which does not fit \[2, 12, 2\]/,
    );
    const [codes, exponents] = [...fused(blocks, scales).values()] as [TensorEntry, TensorEntry];
    expect(() => splitExperts(tensorsOf(codes), 'columns')).toThrow(/stands without .*gate_up_proj_scales/);
    const floats = { ...exponents, dtype: 'F32' as const };
    expect(() => splitExperts(tensorsOf(codes, floats), 'columns')).toThrow(/is stored as F32, and U8/);
  });

  it('stay as they are beside matrices that are quantized', async () => {
    const tensors = splitExperts(fused(await bytes('blocks'), await bytes('scales')), 'columns');
    const matrix = await load(tensors, page, 'int8');
    expect(matrix.formats.map(({ name }) => name)).toEqual(['mxfp4']);
  });
});

describe('fused experts in numbers, [experts, k, rows]', () => {
  const random = new Random(3);
  // k is not a multiple of 32, and a matrix takes four chunks of 16 KiB.
  const [rows, k] = [72, 100];
  const values = random.floats(EXPERTS * k * rows);
  const bias = random.floats(EXPERTS * rows);
  const raw = (of: Float32Array): Uint8Array => new Uint8Array(of.slice().buffer);
  const tensors = (): Tensors =>
    splitExperts(
      tensorsOf(
        entry('mlp.experts.gate_up_proj', 'F32', [EXPERTS, k, rows], raw(values)),
        entry('mlp.experts.gate_up_proj_bias', 'F32', [EXPERTS, rows], raw(bias)),
      ),
      'columns',
    );
  const page = (weights: WeightTable): Matrix => weights.expertTurns(names, rows / 2, k, { bias: true });

  it('are turned chunk by chunk, and their biases stand with their rows', async () => {
    const narrow = disguise(device, { bindingLimit: 16 << 10 });
    const weights = openWeights(narrow, tensors(), page, { format: null });
    await weights.load();
    const matrix = weights.page;
    expect(matrix.windows.length).toBe(8);
    const columns: Float32Array[] = [];
    while (columns.length < 2 * 128)
      columns.push(...(await columnsOf(narrow, matrix, { first: columns.length, count: 32 })));
    const biases = new Float32Array(await narrow.read(matrix.bias!.region!));
    for (let expert = 0; expert < EXPERTS; expert++) {
      for (let row = 0; row < rows; row++) {
        const column = columnOf(expert, row, 128);
        expect(biases[column]).toBe(bias[expert * rows + row]);
        const wanted = Array.from({ length: k }, (_, i) => values[(expert * k + i) * rows + row]!);
        expect([...columns[column]!]).toEqual(wanted);
      }
    }
  });

  it('are refused in another shape', () => {
    const other = (weights: WeightTable): Matrix =>
      weights.expertTurns(names, rows / 2, k + 1, { bias: true });
    expect(() => openWeights(device, tensors(), other, { format: null })).toThrow(
      /experts\.0\.gate_up_proj\.weight has the shape \[72, 100\], config.json asks for \[72, 101\]/,
    );
  });
});

it.each([
  ['by rows', [3, 40, 12], [3, 12, 20], [40, 12], [12, 20]],
  ['by columns', [3, 12, 40], [3, 20, 12], [40, 12], [12, 20]],
  ['by columns, as many inputs as rows of gate and up', [3, 40, 40], [3, 20, 40], [40, 40], [40, 20]],
  ['by rows, as many inputs as rows of gate and up', [3, 40, 40], [3, 40, 20], [40, 40], [40, 20]],
])('the shapes of a layer determine the order of its experts: %s', (_, gateUp, down, ...wanted) => {
  const stored = (name: string, shape: number[]) =>
    entry(`mlp.experts.${name}`, 'F16', shape, new Uint8Array(2 * shape.reduce((a, b) => a * b, 1)));
  const split = splitExperts(tensorsOf(stored('gate_up_proj', gateUp), stored('down_proj', down)), 'shapes');
  const found = ['gate_up_proj', 'down_proj'].map((name) => split.get(`mlp.experts.2.${name}.weight`)!.shape);
  expect(found).toEqual(wanted);
});
