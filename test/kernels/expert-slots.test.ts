// Products of experts in rounds: with the experts of a plan brought in turns, in slots of another order, the sums are bit for bit those of experts
// that are all there.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { expertLinear, expertSwiglu } from '../../src/kernels/expert-matmul.ts';
import { planExperts } from '../../src/kernels/expert-plan.ts';
import { IDLE, withSlots } from '../../src/kernels/expert-slots.ts';
import { expertSum } from '../../src/kernels/expert-sum.ts';
import {
  expertParts,
  interleaved,
  stacked,
  type ExpertSlots,
  type Matrix,
} from '../../src/kernels/matrix.ts';
import { route } from '../../src/kernels/route.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, upload } from './compute.ts';
import { packMatrix } from './packed.ts';

const [HIDDEN, FFN, EXPERTS, CHOSEN] = [40, 36, 7, 3];

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

interface Weights {
  gateUps: Matrix;
  downs: Matrix;
}

/** `order`: the expert in each place. */
function weights(order: readonly number[]): Weights {
  const random = new Random(5);
  const gateUps = random.floats(EXPERTS * 2 * FFN * HIDDEN);
  const downs = random.floats(EXPERTS * HIDDEN * FFN);
  const placed = (values: Float32Array): Float32Array => {
    const each = values.length / EXPERTS;
    const all = order.map((expert) => values.subarray(expert * each, (expert + 1) * each));
    return Float32Array.from(all.flatMap((some) => [...some]));
  };
  const pairs = expertParts(order.map((_, i) => interleaved(`gate ${i}`, `up ${i}`, FFN)));
  const outs = expertParts(order.map((_, i) => stacked([{ name: `down ${i}`, rows: HIDDEN }])));
  const form = { experts: EXPERTS };
  return {
    gateUps: packMatrix(device, 'int8', HIDDEN, pairs, placed(gateUps), form),
    downs: packMatrix(device, 'int8', FFN, outs, placed(downs), form),
  };
}

/** Slots that have all experts, of which a round may read some. Returns what was asked for. */
function slotsOf(order: readonly number[], count: number, asked: number[][]): ExpertSlots {
  const words = new Uint32Array(EXPERTS).fill(IDLE);
  const table = upload(device, words);
  const bring = (experts: readonly number[]) => {
    asked.push([...experts]);
    const rounds = Array.from({ length: Math.ceil(experts.length / count) }, (_, i) =>
      experts.slice(i * count, (i + 1) * count),
    );
    return rounds.map((some) => async (): Promise<void> => {
      words.fill(IDLE);
      for (const expert of some) words[expert] = order.indexOf(expert);
      device.gpu.queue.writeBuffer(table.buffer, table.offset, words);
    });
  };
  return { table, bring };
}

function run({ gateUps, downs }: Weights, rows: number): Promise<Float32Array[]> {
  const random = new Random(rows);
  const [logits, x, residual] = [EXPERTS, HIDDEN, HIDDEN].map((columns) => random.floats(rows * columns));
  return compute({
    device,
    capacity: { rows: 20 },
    sizes: { rows },
    record(_, input) {
      const rowsOf = (columns: number, values: Float32Array): Tensor => input(['rows', columns], values);
      const routes = route(rowsOf(EXPERTS, logits!), { chosen: CHOSEN, normed: true }, null);
      const plan = planExperts(routes);
      const from = rowsOf(HIDDEN, x!);
      const y = withSlots(plan, [gateUps, downs], (tiles) =>
        expertLinear(expertSwiglu(from, tiles, gateUps), tiles, downs),
      );
      return expertSum(y, routes.shares, plan, rowsOf(HIDDEN, residual!));
    },
  });
}

it.each([1, 5, 19])('%s rows in rounds of 1, 2 and all experts', async (rows) => {
  const inOrder = Array.from({ length: EXPERTS }, (_, i) => i);
  const whole = await run(weights(inOrder), rows);
  const order = [4, 6, 1, 0, 3, 5, 2];
  for (const count of [1, 2, EXPERTS]) {
    const asked: number[][] = [];
    const slotted = weights(order);
    const slots = slotsOf(order, count, asked);
    slotted.gateUps.slots = slots;
    slotted.downs.slots = slots;
    expect(await run(slotted, rows)).toEqual(whole);
    expect(asked).toHaveLength(1);
    expect(new Set(asked[0])).toHaveProperty('size', asked[0]!.length);
    if (rows === 1) expect(asked[0]).toHaveLength(CHOSEN);
  }
});

it('matrices of the same experts share their slots', async () => {
  const { gateUps, downs } = weights([0, 1, 2, 3, 4, 5, 6]);
  gateUps.slots = slotsOf([], 1, []);
  await expect(run({ gateUps, downs }, 1)).rejects.toThrow(/have slots of their own/);
});
