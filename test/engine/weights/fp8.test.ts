// FP8 weights: codes of E4M3 and scales of another tensor, for a whole matrix, for rows, and for tiles of 128 rows and 128 k's.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scalesOf } from '../../../src/engine/weights/scales.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { readSafetensors, type TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { headLinear } from '../../../src/kernels/head-linear.ts';
import { linear } from '../../../src/kernels/matmul.ts';
import type { Matrix } from '../../../src/kernels/matrix.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { memorySource } from '../../files/memory-source.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { compute, Random } from '../../kernels/compute.ts';
import { columnsOf } from '../../kernels/stored.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

type Tensors = Map<string, TensorEntry>;

function entry(name: string, dtype: TensorEntry['dtype'], shape: number[], data: Uint8Array): TensorEntry {
  return { name, dtype, shape, source: memorySource(name, data), offset: 0, bytes: data.length };
}

const floats = (values: number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);

/** source: the OCP's 8-bit floating point specification */
function e4m3(code: number): number {
  const [exponent, mantissa] = [(code >> 3) & 15, code & 7];
  const size = exponent === 0 ? (mantissa / 8) * 2 ** -6 : (1 + mantissa / 8) * 2 ** (exponent - 7);
  return code & 128 ? -size : size;
}

const randomCodes = (count: number, random: Random): Uint8Array =>
  Uint8Array.from({ length: count }, () => random.integer(127) + 128 * random.integer(2));

async function load(tensors: Tensors, page: (weights: WeightTable) => Matrix): Promise<Matrix> {
  const before = device.memoryUsed;
  const weights = openWeights(device, tensors, page, { format: null });
  expect(device.memoryUsed - before).toBe(weights.plan.bytes);
  await weights.load();
  return weights.page;
}

it('values of all FP8 codes are those of torch', async () => {
  const file = readFileSync(new URL('../../golden/stored-blocks.safetensors', import.meta.url));
  const { tensors } = await readSafetensors(memorySource('golden', file));
  const bytes = (name: string): Uint8Array => {
    const { offset, bytes: size } = tensors.get(`E4M3.${name}`)!;
    return Uint8Array.from(file.subarray(offset, offset + size));
  };
  const checkpoint: Tensors = new Map([
    ['w.weight', entry('w.weight', 'F8_E4M3', [2, 128], bytes('codes'))],
    ['w.weight_scale', entry('w.weight_scale', 'F32', [2, 1], bytes('scales'))],
  ]);
  const matrix = await load(checkpoint, (weights) => weights.matrix('w.weight', 2, 128));
  const values = new Float32Array(bytes('values').buffer);
  const columns = await columnsOf(device, matrix);
  columns.forEach((column, row) =>
    column.forEach((value, i) => {
      const wanted = values[row * 128 + i]!;
      expect(Math.abs(value - wanted)).toBeLessThanOrEqual(2 ** -23 * Math.abs(wanted));
    }),
  );
});

describe('matmuls with FP8 scales', () => {
  const [rows, k] = [160, 256];
  const cases = [
    { of: 'the whole matrix', suffix: '_scale', shape: [], dtype: 'F32', tile: () => 0 },
    { of: 'each row', suffix: '_scale', shape: [rows, 1], dtype: 'F32', tile: (row: number) => row },
    {
      of: 'tiles of 128 × 128, in bf16',
      suffix: '_scale_inv',
      shape: [2, 2],
      dtype: 'BF16',
      tile: (row: number, i: number) => 2 * Math.floor(row / 128) + Math.floor(i / 128),
    },
    {
      of: "tiles of 128 × 128 in ModelOpt's four dimensions",
      suffix: '_scale',
      shape: [2, 1, 2, 1],
      dtype: 'F32',
      tile: (row: number, i: number) => 2 * Math.floor(row / 128) + Math.floor(i / 128),
    },
  ] as const;

  it.each(cases)('of $of', async ({ suffix, shape, dtype, tile }) => {
    const random = new Random(shape.length);
    const x = random.floats(17 * k);
    const codes: Uint8Array[] = [];
    const scales: number[][] = [];
    const tensors: Tensors = new Map();
    for (const name of ['gate', 'up']) {
      codes.push(randomCodes(rows * k, random));
      const count = shape.reduce((product, extent) => product * extent, 1);
      // bf16 holds them.
      scales.push(Array.from({ length: count }, () => (1 + random.integer(128) / 128) * 2 ** -9));
      const wide = floats(scales.at(-1)!);
      const data = dtype === 'F32' ? wide : wide.filter((_, i) => i % 4 > 1);
      tensors.set(`${name}.weight`, entry(`${name}.weight`, 'F8_E4M3', [rows, k], codes.at(-1)!));
      tensors.set(`${name}.weight${suffix}`, entry(`${name}.weight${suffix}`, dtype, [...shape], data));
    }
    const matrix = await load(tensors, (weights) => weights.gateUp('gate.weight', 'up.weight', rows, k));
    expect(matrix.formats.map(({ name }) => name)).toEqual(['e4m3']);
    for (const count of [17, 2]) {
      const y = await compute({
        device,
        capacity: { rows: count },
        sizes: { rows: count },
        record: (_, input) => linear(input(['rows', k], x.subarray(0, count * k)), matrix),
      });
      for (let column = 0; column < 2 * rows; column += 7) {
        const [side, row] = [Math.floor((column % 4) / 2), 2 * Math.floor(column / 4) + (column % 2)];
        for (let at = 0; at < count; at++) {
          let [sum, size] = [0, 0];
          for (let i = 0; i < k; i++) {
            const scale = scales[side]![tile(row, i)]!;
            const term = x[at * k + i]! * scale * e4m3(codes[side]![row * k + i]!);
            sum += term;
            size += Math.abs(term);
          }
          expect(Math.abs(y[at]![column]! - sum)).toBeLessThan(2e-6 * size);
        }
      }
    }
  });
});

it('parts in FP8 beside one in bf16 keep both', async () => {
  const random = new Random(9);
  const tensors: Tensors = new Map([
    ['q.weight', entry('q.weight', 'F8_E4M3', [64, 128], randomCodes(64 * 128, random))],
    ['q.weight_scale', entry('q.weight_scale', 'F32', [], floats([0.5]))],
    ['k.weight', entry('k.weight', 'BF16', [32, 128], new Uint8Array(2 * 32 * 128).fill(0x3f))],
  ]);
  const parts = [
    { name: 'q.weight', rows: 64 },
    { name: 'k.weight', rows: 32 },
  ];
  const matrix = await load(tensors, (weights) => weights.stacked(parts, 128));
  expect(matrix.windows.map(({ format }) => format.name)).toEqual(['e4m3', 'bf16']);
  const columns = await columnsOf(device, matrix);
  expect(columns[64]![5]).toBe(0.74609375); // 0x3f3f
});

it('scales of an FP8 text model are found among its own names if another class wraps it', () => {
  const stored = (name: string, dtype: TensorEntry['dtype'], shape: number[]) =>
    [`model.${name}`, { name: `model.language_model.${name}`, dtype, shape }] as const;
  const tensors = new Map([
    stored('q_proj.weight', 'F8_E4M3', [256, 128]),
    stored('q_proj.weight_scale_inv', 'F32', [2, 1]),
  ]);
  const name = 'model.q_proj.weight';
  const scales = scalesOf(tensors, { ...tensors.get(name)!, name });
  expect(scales).toMatchObject({ name: `${name}_scale_inv`, tiles: { rows: 128, blocks: 1 } });
});

describe('FP8 weights are refused', () => {
  const codes = (shape: number[]): TensorEntry =>
    entry('w.weight', 'F8_E4M3', shape, randomCodes(shape[0]! * (shape[1] ?? 1), new Random(1)));
  const scale = (shape: number[], values: number[]): TensorEntry =>
    entry('w.weight_scale', 'F32', shape, floats(values));
  const open = (tensors: TensorEntry[], page: (weights: WeightTable) => unknown) =>
    openWeights(disguise(device, {}), new Map(tensors.map((one) => [one.name, one])), page, { format: null });
  const matrix = (k: number) => (weights: WeightTable) => weights.matrix('w.weight', 4, k);

  it('without scales, and with scales of another shape', () => {
    expect(() => open([codes([4, 128])], matrix(128))).toThrow(
      /w.weight is F8_E4M3 without its scales \(w.weight_scale_inv or w.weight_scale\)/,
    );
    expect(() => open([codes([4, 128]), scale([3], [1, 1, 1])], matrix(128))).toThrow(
      /w.weight_scale is F32 of \[3\], which is not a scale for \[4, 128\]/,
    );
  });

  it('with rows that are not whole blocks, vectors, and a code that is NaN', async () => {
    expect(() => open([codes([4, 96]), scale([], [1])], matrix(96))).toThrow(/rows of 96 values/);
    const table = (weights: WeightTable) => weights.table('w.weight', 4, 128);
    expect(() => open([codes([4, 128]), scale([], [1])], table)).toThrow(/FP8, and only matrices/);
    const bytes = randomCodes(4 * 128, new Random(2));
    bytes[200] = 0xff;
    const damaged = entry('w.weight', 'F8_E4M3', [4, 128], bytes);
    await expect(open([damaged, scale([], [1])], matrix(128)).load()).rejects.toThrow(/1 value that is NaN/);
  });
});

it('a matrix for each head has the scales of its rows, where tiles of 128 cut through heads', async () => {
  const [heads, rows, k] = [3, 84, 128];
  const random = new Random(3);
  const codes = randomCodes(heads * rows * k, random);
  const scales = [2 ** -9, 1.5 * 2 ** -8];
  const tensors: Tensors = new Map([
    ['kv.weight', entry('kv.weight', 'F8_E4M3', [heads * rows, k], codes)],
    ['kv.weight_scale_inv', entry('kv.weight_scale_inv', 'F32', [2, 1], floats(scales))],
  ]);
  const matrix = await load(tensors, (weights) => weights.heads('kv.weight', heads, rows, k));
  expect(matrix.formats.map(({ name }) => name)).toEqual(['e4m3']);
  const x = random.floats(2 * heads * k);
  const y = await compute({
    device,
    capacity: { rows: 16 },
    sizes: { rows: 2 },
    record: (_, input) => headLinear(input(['rows', heads * k], x), matrix, { first: 40, count: 44 }),
  });
  for (let row = 0; row < 2; row++) {
    for (let column = 0; column < heads * 44; column++) {
      const head = Math.floor(column / 44);
      const stored = head * rows + 40 + (column % 44);
      let sum = 0;
      for (let i = 0; i < k; i++)
        sum +=
          x[(row * heads + head) * k + i]! * e4m3(codes[stored * k + i]!) * scales[Math.floor(stored / 128)]!;
      expect(Math.abs(y[row]![column]! - sum)).toBeLessThan(1e-3);
    }
  }
});
