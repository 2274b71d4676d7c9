// LoRAs beside weights that are stored in codes, against the merging of them into the numbers that the codes stand for: every form of
// factors, several at once, each layout of matrices and each launcher that multiplies by them.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WeightChange, WeightChanges } from '../../../src/engine/weights/change.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import type { Delta } from '../../../src/files/lora/module.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Tensor } from '../../../src/gpu/tensor.ts';
import { linear, linearAdd, linearGeglu, linearSwiglu } from '../../../src/kernels/matmul.ts';
import type { Matrix } from '../../../src/kernels/matrix.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { memorySource } from '../../files/memory-source.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { compute } from '../../kernels/compute.ts';

const ROWS = 37;
/** Relative to the largest value: products of f32 in another order. */
const ROUNDING = 2e-6;

let device: Device;
beforeAll(async () => {
  device = await openModelTestDevice();
});
afterAll(() => device.destroy());

type Tensors = ReadonlyMap<string, TensorEntry>;

function random(count: number, seed = count): Float32Array<ArrayBuffer> {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

function entry(
  name: string,
  shape: number[],
  dtype: TensorEntry['dtype'],
  bytes: Uint8Array<ArrayBuffer>,
): TensorEntry {
  return { name, dtype, shape, source: memorySource(name, bytes), offset: 0, bytes: bytes.byteLength };
}

function floats(name: string, shape: number[], seed?: number): TensorEntry {
  const count = shape.reduce((product, size) => product * size, 1);
  return entry(name, shape, 'F32', new Uint8Array(random(count, seed).buffer));
}

/** Matrices in blocks of Q8_0 and vectors in F32, and the numbers that the codes stand for. */
function coded(shapes: Readonly<Record<string, number[]>>): { codes: Tensors; numbers: Tensors } {
  const codes = new Map<string, TensorEntry>();
  const numbers = new Map<string, TensorEntry>();
  for (const [name, shape] of Object.entries(shapes)) {
    const own = floats(name, shape);
    const values = random(shape.reduce((product, size) => product * size, 1));
    const blocks = new Uint8Array((values.length / 32) * 34);
    const stored = values.map((value, i) => {
      const code = Math.round(127 * value);
      // Each block begins with its scale, 1/128 as f16.
      blocks[Math.floor(i / 32) * 34 + 1] = 0x20;
      blocks[Math.floor(i / 32) * 34 + 2 + (i % 32)] = code;
      return code / 128;
    });
    const isVector = shape.length === 1;
    codes.set(name, isVector ? own : entry(name, shape, 'Q8_0', blocks));
    numbers.set(name, isVector ? own : entry(name, shape, 'F32', new Uint8Array(stored.buffer)));
  }
  return { codes, numbers };
}

interface Run {
  build: (table: WeightTable) => Matrix;
  columns: number;
  layers: (matrix: Matrix, x: Tensor) => Tensor;
}

/** Rows that layers compute of random ones, with the changes in tensors. */
async function computed(
  tensors: Tensors,
  { build, columns, layers }: Run,
  changes: WeightChanges,
  on = device,
): Promise<number[]> {
  const weights = openWeights(on, tensors, build, { format: null, plain: true });
  await weights.load({ changes });
  const rows = await compute({
    device: on,
    capacity: {},
    sizes: {},
    record: (_, input) => layers(weights.page, input([ROWS, columns], random(ROWS * columns, 7))),
  });
  weights.free();
  return rows.flatMap((row) => [...row]);
}

/** Expects that the changes beside codes compute what they compute in numbers, and that they change something. */
async function expectBeside(
  shapes: Readonly<Record<string, number[]>>,
  run: Run,
  changes: WeightChanges,
): Promise<void> {
  const { codes, numbers } = coded(shapes);
  const wanted = await computed(numbers, run, changes);
  const plain = await computed(codes, run, new Map());
  const found = await computed(codes, run, changes);
  const most = Math.max(...wanted.map(Math.abs));
  const far = (a: number[]): number => Math.max(...a.map((value, i) => Math.abs(value - wanted[i]!)));
  expect(far(plain)).toBeGreaterThan(most / 1000);
  expect(far(found)).toBeLessThan(ROUNDING * most);
}

const LAYERS = { 'fc.weight': [36, 128], 'fc.bias': [36], 'proj.weight': [36, 128], 'proj.bias': [36] };

const FC: Run = {
  build: (table) => table.matrix('fc.weight', 36, 128, { bias: true }),
  columns: 128,
  layers: (fc, x) => linear(x, fc, { activation: 'silu' }),
};
const PROJ: Run = {
  build: (table) => table.matrix('proj.weight', 36, 128, { bias: true }),
  columns: 128,
  layers: (proj, x) => linearAdd(x, proj, linear(x, proj)),
};

const whole = (rows: number, columns: number) => ({ whole: floats('whole', [rows, columns]) });
const product = (rows: number, rank: number, columns: number) => ({
  b: floats('b', [rows, rank]),
  a: floats('a', [rank, columns]),
  mid: null,
  isTransposed: false,
});
/** Tucker's form; LoHa and LoKr store the factor of its rows transposed. */
const tucker = (rows: number, rank: number, columns: number, isTransposed = true) => ({
  b: floats('b', isTransposed ? [rank, rows] : [rows, rank]),
  a: floats('a', [rank, columns]),
  mid: floats('mid', [rank, rank, 1, 1]),
  isTransposed,
});

/** Every form of a delta [36, 128]. */
const FORMS: Readonly<Record<string, Pick<Delta, 'kind' | 'factors'>>> = {
  lora: { kind: 'sum', factors: [product(36, 5, 128)] },
  locon: { kind: 'sum', factors: [tucker(36, 3, 128, false)] },
  loha: { kind: 'hadamard', factors: [product(36, 3, 128), product(36, 2, 128)] },
  'loha of cores': { kind: 'hadamard', factors: [tucker(36, 3, 128), tucker(36, 2, 128)] },
  lokr: { kind: 'kronecker', factors: [whole(4, 8), product(9, 2, 16)] },
  'lokr of a tall factor': { kind: 'kronecker', factors: [whole(6, 4), product(6, 2, 32)] },
  'lokr of two products': { kind: 'kronecker', factors: [product(4, 3, 8), product(9, 2, 16)] },
  'lokr of a core': { kind: 'kronecker', factors: [whole(4, 8), tucker(9, 2, 16)] },
  'lokr of two whole factors': { kind: 'kronecker', factors: [whole(4, 8), whole(9, 16)] },
};

function changeOf(form: keyof typeof FORMS, scale: number): WeightChange {
  const delta = { ...FORMS[form]!, scale: 0.5 };
  return { module: form, delta, magnitude: null, firstRow: 0, scale };
}

describe('LoRA factors beside codes compute the sums of weights in numbers:', () => {
  it.each(Object.keys(FORMS))('%s', async (form) => {
    await expectBeside(LAYERS, FC, new Map([['fc.weight', [changeOf(form, 0.75)]]]));
    await expectBeside(LAYERS, PROJ, new Map([['proj.weight', [changeOf(form, -0.75)]]]));
  });

  it('several at once, and one of the bias', async () => {
    const bias = { kind: 'sum', factors: [{ whole: floats('bias', [36], 3) }], scale: 1 } as const;
    const changes = new Map([
      ['fc.weight', [changeOf('lora', 0.8), changeOf('loha', -0.5), changeOf('lokr', 0.5)]],
      ['fc.bias', [{ ...changeOf('lora', 1), delta: bias }]],
    ]);
    await expectBeside(LAYERS, FC, changes);
  });
});

/** LoRA of this rank. */
function low(name: string, rows: number, columns: number, rank: number): WeightChange {
  const factor = (part: string, shape: number[]) => floats(`${name}.${part}`, shape, rank + shape[0]!);
  const b = factor('b', [rows, rank]);
  const a = factor('a', [rank, columns]);
  const delta = { kind: 'sum', factors: [{ b, a, mid: null, isTransposed: false }], scale: 0.5 } as const;
  return { module: name, delta, magnitude: null, firstRow: 0, scale: 0.5 };
}

describe('LoRA factors beside codes reach', () => {
  const qkv = { q: [40, 128], k: [24, 128], v: [24, 128], out: [8, 128] };

  it('some parts of a fused matrix, by modules of their own and by one of all', async () => {
    const all = low('qkv', 112, 128, 3);
    const changes = new Map([
      ['q', [low('q', 40, 128, 5), all]],
      ['v', [{ ...all, firstRow: 64 }]],
      ['out', [low('out', 8, 128, 1)]],
    ]);
    const build = (table: WeightTable): Matrix => {
      const parts = Object.entries(qkv).map(([name, [rows]]) => ({ name, rows: rows! }));
      return table.stacked(parts, 128);
    };
    await expectBeside(qkv, { build, columns: 128, layers: (m, x) => linear(x, m) }, changes);
  });

  it('gate and up, which alternate', async () => {
    const build = (table: WeightTable): Matrix => table.gateUp('gate', 'up', 36, 128);
    const changes = new Map([
      ['gate', [low('gate', 36, 128, 2)]],
      ['up', [low('up', 36, 128, 3)]],
    ]);
    const layers = (matrix: Matrix, x: Tensor) => linearSwiglu(x, matrix);
    await expectBeside({ gate: [36, 128], up: [36, 128] }, { build, columns: 128, layers }, changes);
  });

  it('both halves of one tensor, which alternate', async () => {
    const build = (table: WeightTable): Matrix => table.halves('proj', 36, 128);
    const changes = new Map([['proj', [low('proj', 72, 128, 4)]]]);
    const layers = (matrix: Matrix, x: Tensor) => linearGeglu(x, matrix);
    await expectBeside({ proj: [72, 128] }, { build, columns: 128, layers }, changes);
  });
});

it('LoRA factors beside codes are filled in pieces where they exceed a binding', async () => {
  const { codes } = coded({ w: [600, 128] });
  const build = (table: WeightTable): Matrix => table.matrix('w', 600, 128);
  const run: Run = { build, columns: 128, layers: (matrix, x) => linear(x, matrix) };
  const changes = new Map([['w', [low('one', 600, 128, 16), low('two', 600, 128, 15)]]]);
  const pieces = await computed(codes, run, changes, disguise(device, { bindingLimit: 65536 }));
  expect(pieces).toEqual(await computed(codes, run, changes));
});

it('LoRA factors beside codes come and go without reading the codes again, and leave their bits', async () => {
  const { codes } = coded(LAYERS);
  const weights = openWeights(device, codes, FC.build, { format: null, plain: true });
  await weights.load();
  const bits = async () => new Uint8Array(await device.read(weights.page.windows[0].codes));
  const before = await bits();
  const memory = device.memoryUsed;
  const changes = new Map([['fc.weight', [changeOf('lora', 1)]]]);
  const names = new Set(['fc.weight']);
  expect(weights.areBeside(names)).toBe(true);
  expect(weights.areBeside(new Set(['fc.bias']))).toBe(false);
  await weights.reload(names, changes);
  expect(device.memoryUsed).toBeGreaterThan(memory);
  expect(await bits()).toEqual(before);
  await weights.reload(names, new Map());
  expect(device.memoryUsed).toBe(memory);
  expect(weights.page.beside).toBeNull();
  weights.free();
});

it('an embedding in codes takes no LoRA factors, as its rows are read one by one', async () => {
  const { codes } = coded({ table: [64, 128] });
  const build = (table: WeightTable): Matrix => table.embedding('table', 64, 128);
  const weights = openWeights(device, codes, build, { format: null, plain: true });
  const changes = new Map([['table', [low('table', 64, 128, 2)]]]);
  await expect(weights.load({ changes })).rejects.toThrow(/table as Q8_0, beside which only factors/);
  weights.free();
});
