// Which matrices of streamed layers are in a file: those for which host memory has no room, spread over the layers.

import { expect, it } from 'vitest';
import { storedRequests } from '../../../src/engine/weights/layers.ts';
import type { PlannedRequest, WeightPlan } from '../../../src/engine/weights/plan.ts';

const BYTES = 1024;
const COUNT = 12;

const matrix = { spans: [], winograd: false, windows: [{ codes: BYTES, scales: 0 }] };
const plan = {
  requests: Array.from({ length: COUNT }, () => ({ matrix }) as unknown as PlannedRequest),
  bytes: COUNT * BYTES,
} satisfies WeightPlan;
const all = new Set(plan.requests.keys());

/** A host with room for so many matrices, a quarter of which is for bytes on their way from a file. */
function storedWith(matrices: number, others = 0): number[] {
  const budget = matrices * BYTES;
  const room = { copies: 0.75 * budget, staging: 0.25 * budget };
  return [...storedRequests(plan, all, { budget, bytes: 0, room }, others * BYTES)];
}

it.each<[number, number, number[]]>([
  [COUNT, 0, []],
  [COUNT + 3, 3, []],
  [8, 0, [0, 2, 4, 6, 8, 10]],
  [4, 0, [0, 1, 2, 4, 5, 6, 8, 9, 10]],
  [0, 0, [...all]],
  // Others have no room, and the file that has them is made for the last one.
  [16, 5, [COUNT - 1]],
])('host memory with room for %d matrices beside %d others', (matrices, others, expected) => {
  expect(storedWith(matrices, others)).toEqual(expected);
});
