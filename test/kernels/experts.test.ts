// A block of experts from its router's logits to the residual, planned, multiplied and summed on the device, against sums in f64;
// and bit by bit against itself with other numbers of rows.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { expertLinear, expertSwiglu, expertTanhGeglu } from '../../src/kernels/expert-matmul.ts';
import { planExperts } from '../../src/kernels/expert-plan.ts';
import { expertSum } from '../../src/kernels/expert-sum.ts';
import { type FormatName as Format } from '../../src/kernels/formats.ts';
import { expertParts, interleaved, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { route, type Routing } from '../../src/kernels/route.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { compute, differingRows, Random, upload } from './compute.ts';
import { expectBelow, expectCloseTo } from './expect-each.ts';
import { packMatrix, weightsFor } from './packed.ts';

const TOLERANCE = 2e-5;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

interface Problem {
  hidden: number;
  ffn: number;
  experts: number;
  routing: Routing;
  rows: number;
  x: Float32Array;
  logits: Float32Array;
  residual: Float32Array;
  /** [expert][gate, up][ffn][hidden] and [expert][hidden][ffn] */
  gateUps: Float32Array;
  downs: Float32Array;
  gateUpMatrix: Matrix;
  downMatrix: Matrix;
}

function problem(
  on: Device,
  format: Format,
  [hidden, ffn, experts]: readonly [number, number, number],
  routing: Routing,
  rows: number,
): Problem {
  const random = new Random(hidden + ffn + experts);
  const gateUps = weightsFor(format, experts * 2 * ffn, hidden, random);
  const downs = weightsFor(format, experts * hidden, ffn, random);
  const each = Array.from({ length: experts }, (_, i) => i);
  const pairs = expertParts(each.map((i) => interleaved(`gate ${i}`, `up ${i}`, ffn)));
  const outs = expertParts(each.map((i) => stacked([{ name: `down ${i}`, rows: hidden }])));
  return {
    hidden,
    ffn,
    experts,
    routing,
    rows,
    x: random.floats(rows * hidden),
    // Most rows go to the first experts, and one expert gets a single row.
    logits: random
      .floats(rows * experts)
      .map((value, i) => 3 * value - (i % experts) / 2 - (i % experts === 1 ? 99 : 0)),
    residual: random.floats(rows * hidden),
    gateUps,
    downs,
    gateUpMatrix: packMatrix(on, format, hidden, pairs, gateUps, { experts }),
    downMatrix: packMatrix(on, format, ffn, outs, downs, { experts }),
  };
}

function run(
  on: Device,
  of: Problem,
  capacity: number,
  from = 0,
  to = of.rows,
  decodes: readonly string[] = [],
): Promise<Float32Array[]> {
  const cut = (values: Float32Array) => {
    const columns = values.length / of.rows;
    return values.subarray(from * columns, to * columns);
  };
  return compute({
    device: on,
    capacity: { rows: capacity },
    sizes: { rows: to - from },
    decodes,
    record(_, input) {
      const logits: Tensor = input(['rows', of.experts], cut(of.logits));
      const routes = route(logits, of.routing, null);
      const plan = planExperts(routes);
      const h = expertSwiglu(input(['rows', of.hidden], cut(of.x)), plan, of.gateUpMatrix);
      const y = expertLinear(h, plan, of.downMatrix);
      return expertSum(y, routes.shares, plan, input(['rows', of.hidden], cut(of.residual)));
    },
  });
}

/** Computes one row in f64. */
const silu = (gate: number): number => gate / (1 + Math.exp(-gate));

function wanted(of: Problem, row: number, unit = silu): number[] {
  const { hidden, ffn, experts, routing } = of;
  const logits = [...of.logits.subarray(row * experts, (row + 1) * experts)];
  const order = logits.map((_, i) => i).sort((a, b) => logits[b]! - logits[a]!);
  const chosen = order.slice(0, routing.chosen);
  const among = routing.normed ? chosen : order;
  const sum = among.reduce((total, i) => total + Math.exp(logits[i]!), 0);
  const y = [...of.residual.subarray(row * hidden, (row + 1) * hidden)];
  const x = of.x.subarray(row * hidden, (row + 1) * hidden);
  const dot = (weights: Float32Array, at: number, values: ArrayLike<number>) => {
    let total = 0;
    for (let k = 0; k < values.length; k++) total += weights[at * values.length + k]! * values[k]!;
    return total;
  };
  for (const e of chosen) {
    const h = Array.from({ length: ffn }, (_, j) => {
      const gate = dot(of.gateUps, e * 2 * ffn + j, x);
      return unit(gate) * dot(of.gateUps, e * 2 * ffn + ffn + j, x);
    });
    for (let i = 0; i < hidden; i++)
      y[i] = y[i]! + (Math.exp(logits[e]!) / sum) * dot(of.downs, e * hidden + i, h);
  }
  return y;
}

function expectRight(of: Problem, y: Float32Array[]): void {
  expect(y.length).toBe(of.rows);
  y.forEach((row, i) => {
    const right = wanted(of, i);
    const scale = Math.max(...right.map(Math.abs), 1);
    row.forEach((value, k) => expectBelow(Math.abs(value - right[k]!) / scale, TOLERANCE));
  });
}

const SHAPES = [
  [[33, 7, 3], { chosen: 2, normed: true }],
  [[64, 40, 5], { chosen: 5, normed: false }],
  [[32, 67, 9], { chosen: 1, normed: false }],
] as const;

interface VariantTest {
  name: string;
  as: Disguise;
  formats: Format[];
  shapes?: number[];
  decodes?: readonly string[];
  /** Rows that the tape of all rows has room for. */
  capacity?: number;
}

describe.each<VariantTest>([
  { name: 'the adapter as it is', as: {}, formats: ['f32', 'f16', 'bf16', 'int8', 'int4'] },
  { name: 'no subgroups', as: { portable: true }, formats: ['f32', 'int4'] },
  {
    name: 'windows that cut through experts',
    as: { bindingLimit: 28 << 10 },
    formats: ['f32'],
    shapes: [0, 2],
  },
  {
    name: 'rows of a decode step on a GPU, in windows',
    as: { profile: 'discrete', matvecRows: 2, bindingLimit: 28 << 10 },
    formats: ['f32'],
    shapes: [0, 2],
    decodes: ['rows'],
  },
  {
    name: 'rows of prompts on a GPU',
    as: { profile: 'discrete', portable: true },
    formats: ['int4'],
    shapes: [0],
    capacity: 64,
  },
  {
    name: 'rows of prompts on a GPU, in windows that cut through experts',
    as: { profile: 'discrete', portable: true, bindingLimit: 64 << 10 },
    formats: ['f32'],
    shapes: [2],
  },
])('$name', ({ as, formats, shapes = [0, 1, 2], decodes, capacity = 32 }) => {
  it.each(formats)('%s: right, and a row the same in any company', async (format) => {
    const on = disguise(device, as);
    for (const [shape, routing] of shapes.map((i) => SHAPES[i]!)) {
      const of = problem(on, format, shape, routing, 21);
      if (as.bindingLimit) expect(of.gateUpMatrix.windows.length).toBeGreaterThan(1);
      const all = await run(on, of, capacity, 0, of.rows, decodes);
      expectRight(of, all);
      for (const rows of capacity === 64 ? [32, 16, 1] : [16, 4, 1]) {
        const last = Math.min(3 + rows, of.rows);
        expect(differingRows(await run(on, of, rows, 3, last, decodes), all.slice(3, last))).toEqual([]);
      }
    }
  });
});

it('gates may have the tanh approximation of GELU, and sums no residual', async () => {
  const of = problem(device, 'f32', SHAPES[0][0], SHAPES[0][1], 5);
  of.residual.fill(0);
  const found = await compute({
    device,
    capacity: { rows: 16 },
    sizes: { rows: of.rows },
    record(_, input) {
      const routes = route(input(['rows', of.experts], of.logits), of.routing, null);
      const plan = planExperts(routes);
      const h = expertTanhGeglu(input(['rows', of.hidden], of.x), plan, of.gateUpMatrix);
      return expertSum(expertLinear(h, plan, of.downMatrix), routes.shares, plan, null);
    },
  });
  const unit = (x: number): number =>
    0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
  found.forEach((row, i) => wanted(of, i, unit).forEach((right, k) => expectCloseTo(row[k], right, 4)));
});

it('rows of prompts, decode rows and those of one phase have kernels of their own', () => {
  const tileRows: number[] = [];
  const shaders = (as: Disguise, decodes: string[]): string[] => {
    const on = disguise(device, as);
    const of = problem(on, 'f32', SHAPES[0][0], SHAPES[0][1], 1);
    const tape = new Tape(on, { rows: 100 }, { decodes });
    const routes = route(tape.tensor(['rows', of.experts]), of.routing, null);
    const plan = planExperts(routes);
    tileRows.push(plan.tileRows);
    expertLinear(expertSwiglu(tape.tensor(['rows', of.hidden]), plan, of.gateUpMatrix), plan, of.downMatrix);
    tape.finish();
    const names = tape.encodables({ rows: 100 }).map(({ name }) => name);
    tape.destroy();
    return names.slice(2);
  };
  const gpu = { profile: 'discrete' } as const;
  expect(shaders(gpu, [])).toEqual(['gemm.wgsl', 'gemm.wgsl']);
  expect(shaders(gpu, ['rows'])).toEqual(['matvec.wgsl', 'matvec.wgsl']);
  expect(shaders({ ...gpu, deterministic: true }, [])).toEqual(['matmul.wgsl', 'matmul.wgsl']);
  expect(tileRows).toEqual([64, 8, 16]);
});

it('a plan has each choice once, in a tile of its expert, and the tiles behind it are idle', async () => {
  const [rows, experts, chosen] = [11, 6, 3];
  const logits = new Random(3).floats(rows * experts).map((value) => 4 * value);
  const tape = new Tape(device, { rows: 16 });
  const region = upload(device, new Uint32Array(rows * chosen));
  const x = device.tensor('step', 'logits', [16, experts], logits).on(tape);
  const routes = route(x, { chosen, normed: false }, { region, stride: chosen, first: 0 });
  const plan = planExperts(routes);
  tape.keep(plan.plan);
  tape.keep(plan.places);
  tape.finish();
  tape.run({ rows: 16 });
  const words = new Uint32Array(await device.read(tape.region(plan.plan)));
  const places = new Uint32Array(await device.read(tape.region(plan.places)));
  const ids = new Uint32Array(await device.read(region));
  const size = plan.tileRows + 1;
  const taken = new Set<number>();
  for (let row = 0; row < rows; row++) {
    for (let j = 0; j < chosen; j++) {
      const place = places[row * plan.places.stride + j]!;
      const tile = Math.floor(place / plan.tileRows);
      expect(words[tile * size]).toBe(ids[row * chosen + j]);
      expect(words[tile * size + 1 + (place % plan.tileRows)]).toBe(row);
      taken.add(place);
    }
  }
  expect(taken.size).toBe(rows * chosen);
  const ofTiles = Array.from({ length: plan.tiles }, (_, tile) => words[tile * size]!);
  const used = ofTiles.filter((expert) => expert !== 0xffffffff).length;
  expect(ofTiles.slice(used).every((expert) => expert === 0xffffffff)).toBe(true);
  expect(used).toBeLessThanOrEqual(plan.tilesOf({ rows: 16 }));
});

/** In 8 bits rows differ from those in f64 by the rounding of activations, twice. */
const ROUNDED = 4e-2;

it.each([
  { name: 'decode step', decodes: ['rows'], capacity: 32, formats: ['int8', 'int4'] as const },
  { name: 'prompts', decodes: [], capacity: 64, formats: ['int4'] as const },
])(
  'activations in 8 bits, rows of a $name: near, and a row the same in any company',
  async ({ decodes, capacity, formats }) => {
    const on = disguise(device, { profile: 'discrete', matvecRows: 2, activations: 'int8' });
    for (const format of formats) {
      const of = problem(on, format, SHAPES[1][0], SHAPES[1][1], 21);
      const all = await run(on, of, capacity, 0, of.rows, decodes);
      let worst = 0;
      all.forEach((row, i) => {
        const right = wanted(of, i);
        const scale = Math.max(...right.map(Math.abs), 1);
        row.forEach((value, k) => (worst = Math.max(worst, Math.abs(value - right[k]!) / scale)));
      });
      expect(worst).toBeLessThan(ROUNDED);
      expect(worst).toBeGreaterThan(TOLERANCE);
      for (const rows of [16, 1])
        expect(differingRows(await run(on, of, rows, 3, 3 + rows, decodes), all.slice(3, 3 + rows))).toEqual(
          [],
        );
    }
  },
);
