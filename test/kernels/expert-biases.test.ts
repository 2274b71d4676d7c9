// Experts with biases and clamped gates, against sums in f64: each tile takes the biases of its own expert, in windows that cut through
// experts too, and the sum takes one of all experts.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { expertClampedSwiglu, expertLinear } from '../../src/kernels/expert-matmul.ts';
import { planExperts } from '../../src/kernels/expert-plan.ts';
import { expertSum } from '../../src/kernels/expert-sum.ts';
import {
  expertGroups,
  expertParts,
  GROUP,
  interleaved,
  stacked,
  type Matrix,
} from '../../src/kernels/matrix.ts';
import { route } from '../../src/kernels/route.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { packMatrix } from './packed.ts';

const TOLERANCE = 2e-5;
const [HIDDEN, FFN, EXPERTS, ROWS] = [36, 22, 5, 9];
/** The gates of about half of the columns reach the limit. */
const CLAMPED = { alpha: 1.702, limit: 0.5 };

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const random = new Random(11);
const gateUps = random.floats(EXPERTS * 2 * FFN * HIDDEN); // [expert][gate, up][ffn][hidden]
const downs = random.floats(EXPERTS * HIDDEN * FFN);
const gateUpBias = random.floats(EXPERTS * 2 * FFN);
const downBias = random.floats(EXPERTS * HIDDEN);
const x = random.floats(ROWS * HIDDEN);
const sumBias = random.floats(HIDDEN);
const logits = random.floats(ROWS * EXPERTS).map((value) => 3 * value);

/** Values of a bias at the columns of their rows, those of each expert from a group of its own on. */
function setBias(on: Device, matrix: Matrix, bias: Float32Array): void {
  const values = new Float32Array(EXPERTS * GROUP * expertGroups(matrix));
  let at = 0;
  for (const { rows, placement } of matrix.parts) {
    const { firstColumn, unit, unitStride } = placement;
    for (let row = 0; row < rows; row++)
      values[firstColumn + Math.floor(row / unit) * unitStride + (row % unit)] = bias[at++]!;
  }
  matrix.bias = on.tensor('weights', 'bias', [values.length], values);
}

function run(on: Device): Promise<Float32Array[]> {
  const each = Array.from({ length: EXPERTS }, (_, i) => i);
  const pairs = expertParts(each.map((i) => interleaved(`gate ${i}`, `up ${i}`, FFN)));
  const outs = expertParts(each.map((i) => stacked([{ name: `down ${i}`, rows: HIDDEN }])));
  const up = packMatrix(on, 'f32', HIDDEN, pairs, gateUps, { experts: EXPERTS });
  const down = packMatrix(on, 'f32', FFN, outs, downs, { experts: EXPERTS });
  setBias(on, up, gateUpBias);
  setBias(on, down, downBias);
  return compute({
    device: on,
    capacity: { rows: 16 },
    sizes: { rows: ROWS },
    record(_, input) {
      const routes = route(input(['rows', EXPERTS], logits), { chosen: 2, normed: true }, null);
      const plan = planExperts(routes);
      const h = expertClampedSwiglu(input(['rows', HIDDEN], x), plan, up, CLAMPED);
      const residual = input(['rows', HIDDEN], new Float32Array(ROWS * HIDDEN));
      const own = input([HIDDEN], sumBias);
      return expertSum(expertLinear(h, plan, down), routes.shares, plan, residual, true, own);
    },
  });
}

/** One row in f64, after transformers' modeling_gpt_oss. */
function wanted(row: number): number[] {
  const scores = [...logits.subarray(row * EXPERTS, (row + 1) * EXPERTS)];
  const chosen = scores
    .map((_, i) => i)
    .sort((a, b) => scores[b]! - scores[a]!)
    .slice(0, 2);
  const sum = chosen.reduce((total, e) => total + Math.exp(scores[e]!), 0);
  const dot = (weights: Float32Array, at: number, values: ArrayLike<number>): number =>
    Array.from(values).reduce((total, value, k) => total + weights[at * values.length + k]! * value, 0);
  const own = x.subarray(row * HIDDEN, (row + 1) * HIDDEN);
  const { alpha, limit } = CLAMPED;
  const y = Array.from(sumBias);
  for (const e of chosen) {
    const h = Array.from({ length: FFN }, (_, j) => {
      const [g, u] = [e * 2 * FFN + j, e * 2 * FFN + FFN + j];
      const gate = Math.min(dot(gateUps, g, own) + gateUpBias[g]!, limit);
      const up = Math.max(-limit, Math.min(dot(gateUps, u, own) + gateUpBias[u]!, limit));
      return ((up + 1) * gate) / (1 + Math.exp(-alpha * gate));
    });
    for (let i = 0; i < HIDDEN; i++) {
      const out = dot(downs, e * HIDDEN + i, h) + downBias[e * HIDDEN + i]!;
      y[i] = y[i]! + (Math.exp(scores[e]!) / sum) * out;
    }
  }
  return y;
}

it.each<[string, Disguise]>([
  ['the adapter as it is', {}],
  ['no subgroups', { portable: true }],
  ['windows that cut through experts', { bindingLimit: 28 << 10 }],
])('biases of experts, %s', async (_, as) => {
  const rows = await run(disguise(device, as));
  expect(rows.length).toBe(ROWS);
  rows.forEach((row, i) => {
    const right = wanted(i);
    const scale = Math.max(...right.map(Math.abs), 1);
    right.forEach((value, k) => expectBelow(Math.abs(row[k]! - value) / scale, TOLERANCE));
  });
});
