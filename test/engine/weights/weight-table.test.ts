// What a model page asks a checkpoint for: convolutions tap by tap, halves of one tensor, tables, names that may be missing.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect } from '../../../src/engine/weights/collect.ts';
import { InputOrders } from '../../../src/engine/weights/input-orders.ts';
import { uploadsOf } from '../../../src/engine/weights/pack.ts';
import { placeWeights } from '../../../src/engine/weights/place.ts';
import { planWeights } from '../../../src/engine/weights/plan.ts';
import { uploadAll } from '../../../src/engine/weights/upload.ts';
import { openWeights, type Weights } from '../../../src/engine/weights/weights.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Tensor } from '../../../src/gpu/tensor.ts';
import { FORMATS, type WeightFormat } from '../../../src/kernels/formats.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import type { Matrix } from '../../../src/kernels/matrix.ts';
import { memorySource } from '../../files/memory-source.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { Random } from '../../kernels/compute.ts';

let device: Device;
/** The same, whose kernels are chosen as for a CPU. */
let cpu: Device;
beforeAll(async () => {
  device = await openModelTestDevice();
  cpu = disguise(device, { profile: 'cpu' });
});
afterAll(() => device.destroy());

/** A checkpoint of f32 tensors, each with the values it holds; left out: random ones. */
function checkpoint(shapes: Record<string, number[]>, given?: Float32Array<ArrayBuffer>) {
  const random = new Random(5);
  const values = new Map<string, Float32Array>();
  const tensors = new Map<string, TensorEntry>();
  for (const [name, shape] of Object.entries(shapes)) {
    const floats = given ?? random.floats(shape.reduce((product, extent) => product * extent, 1));
    const bytes = new Uint8Array(floats.buffer);
    const source = memorySource(name, bytes);
    values.set(name, floats);
    tensors.set(name, { name, dtype: 'F32', shape, source, offset: 0, bytes: bytes.length });
  }
  return { tensors, values };
}

async function loaded<T>(
  on: Device,
  shapes: Record<string, number[]>,
  ask: (weights: WeightTable) => T,
): Promise<{ asked: T; of: (name: string) => Float32Array; weights: Weights<T> }> {
  const { tensors, values } = checkpoint(shapes);
  const weights = openWeights(on, tensors, ask, { format: null });
  await weights.load();
  return { asked: weights.page, of: (name) => values.get(name)!, weights };
}

/** Reads [column][k of all taps, padded] of an f32 matrix by the layout that shaders/weights documents. */
async function unpack({ windows, blocks }: Matrix): Promise<(column: number, k: number) => number> {
  const held = await Promise.all(
    windows.map(async ({ codes }) => new Float32Array(await device.read(codes))),
  );
  return (column, k) => {
    const group = Math.floor(column / 32);
    const at = windows.findIndex((window) => group < window.firstGroup + window.groups);
    return held[at]![((group - windows[at]!.firstGroup) * blocks * 32 + k) * 32 + (column % 32)]!;
  };
}

async function floats(tensor: Tensor): Promise<number[]> {
  return Array.from(new Float32Array(await device.read(tensor.region!)));
}

describe('a convolution', () => {
  it.each([undefined, 256 << 10])(
    'lies tap by tap, its channels in whole blocks; binding limit %s',
    async (limit) => {
      const [out, channels] = [131, 37];
      const on = limit === undefined ? device : disguise(device, { bindingLimit: limit });
      const { asked, of } = await loaded(
        on,
        { 'conv.weight': [out, channels, 3, 3], 'conv.bias': [out] },
        (weights) => weights.conv('conv.weight', out, channels, 3, { stride: 2 }),
      );
      expect([asked.columns, asked.k, asked.taps, asked.blocks]).toEqual([out, channels, 9, 18]);
      expect((await floats(asked.bias!)).slice(0, out)).toEqual(Array.from(of('conv.bias')));
      const at = await unpack(asked);
      const values = of('conv.weight');
      let wrong = 0;
      for (let o = 0; o < out; o++) {
        for (let k = 0; k < 9 * 64; k++) {
          const [tap, channel] = [Math.floor(k / 64), k % 64];
          const wanted = channel < channels ? values[(o * channels + channel) * 9 + tap] : 0;
          if (at(o, k) !== wanted) wrong++;
        }
      }
      expect(wrong).toBe(0);
    },
  );

  it('of stride 1 is held in Winograd’s form on a CPU: G · g · Gᵀ of each filter g', async () => {
    const [out, channels] = [35, 37];
    const ask = (weights: WeightTable) => weights.conv('c', out, channels, 3, { bias: false });
    const { asked, of } = await loaded(cpu, { c: [out, channels, 3, 3] }, ask);
    expect([asked.taps, asked.winograd, asked.blocks]).toEqual([16, true, 32]);
    const at = await unpack(asked);
    const G = [
      [1, 0, 0],
      [0.5, 0.5, 0.5],
      [0.5, -0.5, 0.5],
      [0, 0, 1],
    ];
    let worst = 0;
    for (let o = 0; o < out; o++) {
      for (let k = 0; k < 16 * 64; k++) {
        const [plane, channel] = [Math.floor(k / 64), k % 64];
        const g = of('c').subarray((o * channels + channel) * 9, (o * channels + channel) * 9 + 9);
        const rows = G[Math.floor(plane / 4)]!;
        const columns = G[plane % 4]!;
        const wanted =
          channel < channels
            ? g.reduce((sum, v, t) => sum + rows[Math.floor(t / 3)]! * columns[t % 3]! * v, 0)
            : 0;
        const error = Math.abs(at(o, k) - wanted);
        worst = error <= worst ? worst : Number.isNaN(error) ? Infinity : error;
      }
    }
    expect(worst).toBeLessThan(5e-7);
    const open = (on: Device, format: WeightFormat | null) =>
      openWeights(on, checkpoint({ c: [out, channels, 3, 3] }).tensors, ask, { format }).page.winograd;
    expect([
      open(disguise(device, { profile: 'discrete' }), null),
      open(cpu, FORMATS.int8),
      open(disguise(device, { profile: 'cpu', memoryBudget: 150_000 }), null),
    ]).toEqual([false, false, false]);
  });

  it.each([false, true])('over time has a matrix a frame of its kernel; Winograd %s', async (winograd) => {
    const channels = winograd ? 37 : 5;
    const shapes = { 'c.weight': [35, channels, 3, 3, 3], 'c.bias': [35] };
    const ask = (weights: WeightTable) => weights.convOverTime('c.weight', 35, channels, [3, 3]);
    const { asked, of } = await loaded(cpu, shapes, ask);
    expect(asked.map(({ bias }) => bias !== null)).toEqual([true, false, false]);
    for (const [before, matrix] of asked.entries()) {
      const taps = Float32Array.from(
        { length: 35 * channels * 9 },
        (_, i) => of('c.weight')[Math.floor(i / 9) * 27 + 9 * (2 - before) + (i % 9)]!,
      );
      const flat = openWeights(
        cpu,
        checkpoint({ c: [35, channels, 3, 3] }, taps).tensors,
        (weights) => weights.conv('c', 35, channels, 3, { bias: false }),
        { format: null },
      );
      await flat.load();
      expect(matrix.winograd).toBe(winograd);
      const [at, wanted] = [await unpack(matrix), await unpack(flat.page)];
      let wrong = 0;
      for (let o = 0; o < 35; o++)
        for (let k = 0; k < matrix.blocks * 32; k++) if (at(o, k) !== wanted(o, k)) wrong++;
      expect(wrong).toBe(0);
      expect(at(34, 0)).not.toBe(0);
    }
  });

  it('over time has only the matrices of the frames that are read', async () => {
    const shapes = { 'c.weight': [8, 5, 3, 1, 1], 'c.bias': [8] };
    const ask = (weights: WeightTable) => weights.convOverTime('c.weight', 8, 5, [3, 1], 1);
    const { asked, of } = await loaded(cpu, shapes, ask);
    expect(asked).toHaveLength(1);
    const at = await unpack(asked[0]!);
    expect(Array.from({ length: 5 }, (_, k) => at(7, k))).toEqual(
      Array.from({ length: 5 }, (_, k) => of('c.weight')[(7 * 5 + k) * 3 + 2]!),
    );
  });

  it('whose windows do not overlap is a matrix of patches', async () => {
    const ask = (weights: WeightTable) => weights.matrix('c', 6, 24, { stored: [3, 2, 2, 2] });
    const { asked, of } = await loaded(device, { c: [6, 3, 2, 2, 2] }, ask);
    const at = await unpack(asked);
    expect(Array.from({ length: 24 }, (_, k) => at(5, k))).toEqual([...of('c').subarray(5 * 24)]);
  });

  it('of one tap may be stored as a matrix, and a matrix as a convolution', async () => {
    const { asked, of } = await loaded(device, { a: [3, 5], b: [3, 5, 1, 1], c: [3, 5, 1, 1] }, (weights) => [
      weights.conv('a', 3, 5, 1, { bias: false }),
      weights.conv('b', 3, 5, 1, { bias: false }),
      weights.matrix('c', 3, 5),
    ]);
    for (const [i, name] of ['a', 'b', 'c'].entries()) {
      const at = await unpack(asked[i]!);
      expect(asked[i]!.taps).toBe(1);
      expect(Array.from({ length: 15 }, (_, j) => at(Math.floor(j / 5), j % 5))).toEqual(
        Array.from(of(name)),
      );
    }
  });

  it('of another kernel is refused', () => {
    const { tensors } = checkpoint({ 'conv.weight': [3, 5, 3, 3] });
    const ask = (weights: WeightTable) => weights.conv('conv.weight', 3, 5, 1, { bias: false });
    expect(() => openWeights(device, tensors, ask, { format: null })).toThrow(
      'has the shape [3, 5, 3, 3], config.json asks for [3, 5]',
    );
  });
});

it('the halves of GEGLU in one tensor stand in turns of two, and so do their biases', async () => {
  const [rows, k] = [67, 33];
  const shapes = { 'proj.weight': [2 * rows, k], 'proj.bias': [2 * rows] };
  const { asked, of } = await loaded(device, shapes, (weights) =>
    weights.halves('proj.weight', rows, k, { bias: true }),
  );
  const at = await unpack(asked);
  const bias = await floats(asked.bias!);
  expect(asked.columns).toBe(2 * rows);
  for (let row = 0; row < 2 * rows; row++) {
    const column = 4 * Math.floor((row % rows) / 2) + ((row % rows) % 2) + (row < rows ? 0 : 2);
    expect(bias[column]).toBe(of('proj.bias')[row]);
    for (let i = 0; i < k; i++) expect(at(column, i)).toBe(of('proj.weight')[row * k + i]);
  }
});

it('a table of the weight table keeps its rows apart', async () => {
  const { asked, of } = await loaded(device, { table: [77, 37] }, (weights) =>
    weights.table('table', 77, 37),
  );
  const got = await floats(asked);
  for (let row = 0; row < 77; row++) {
    expect(got.slice(row * 64, row * 64 + 64)).toEqual([
      ...of('table').subarray(row * 37, (row + 1) * 37),
      ...new Array<number>(27).fill(0),
    ]);
  }
});

it('a tensor asked for twice is loaded twice', async () => {
  const { asked, of } = await loaded(
    device,
    { w: [4, 3] },
    (weights) => [weights.matrix('w', 4, 3), weights.table('w', 4, 3)] as const,
  );
  expect((await unpack(asked[0]))(1, 2)).toBe(of('w')[5]);
  expect((await floats(asked[1]))[32 + 2]).toBe(of('w')[5]);
});

it('a weight table knows the tensors of the checkpoint, and frees all bytes', async () => {
  const before = device.memory().weights;
  const shapes = { 'a.weight': [40, 40], 'a.bias': [40], b: [40], t: [3, 4], g: [8, 5] };
  const { weights } = await loaded(device, shapes, (table) => {
    expect([table.has('a.weight'), table.has('query.weight')]).toEqual([true, false]);
    table.matrix('a.weight', 40, 40, { bias: true });
    table.vector('b', 40);
    table.table('t', 3, 4);
    table.halves('g', 4, 5);
  });
  expect(weights.parameters).toBe(40 * 40 + 40 + 40 + 12 + 40);
  expect(device.memory().weights).toBeGreaterThan(before);
  weights.free();
  expect(device.memory().weights).toBe(before);
});

it('the weights of a layer are read again into the bytes of others, as streaming layers does', async () => {
  const [rows, k] = [70, 40];
  const { tensors, values } = checkpoint({ 'layers.0': [rows, k], 'layers.1': [rows, k] });
  const page = (weights: WeightTable): Matrix[] =>
    [0, 1].map((i) => weights.matrix(`layers.${i}`, rows, k, { split: 'columns' }));
  const { requests, handles } = collect(tensors, page);
  expect(() => (handles[0] as Matrix).windows).toThrow('layers.0 has no bytes yet');
  const options = { format: null, bindingLimit: device.capabilities.bindingLimit, winograd: false };
  const plan = planWeights(requests, () => 'F32', options);
  const [slot] = handles as [Matrix, Matrix];
  const placed = placeWeights(device, { ...plan, requests: plan.requests.slice(0, 1) }, [slot]);
  for (const i of [0, 1, 0]) {
    const handle = handles[i] as Matrix;
    handle.place(slot);
    await uploadAll(
      device,
      uploadsOf([requests[i]!], [handle], tensors, new InputOrders(device, [requests[i]!], [handle])),
      () => {},
    );
    const at = await unpack(slot);
    for (const [row, column] of [
      [0, 0],
      [69, 39],
    ] as const)
      expect(at(row, column)).toBe(values.get(`layers.${i}`)![row * k + column]);
  }
  placed.forEach(({ region }) => device.free(region.buffer));
});
