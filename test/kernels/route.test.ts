import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { planExperts } from '../../src/kernels/expert-plan.ts';
import { route, tilesFor, type Routing } from '../../src/kernels/route.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, upload } from './compute.ts';
import { expectBelow, expectCloseTo } from './expect-each.ts';

const TOLERANCE = 1e-5;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

interface Routed {
  shares: Float32Array[];
  ids: number[][];
}

/** Recorded choices begin at word two and are five words apart beyond their own length. */
async function routed(
  logits: Float32Array,
  experts: number,
  chosen: number,
  normed: boolean,
  { bias = null, ...more }: Partial<Routing> & { bias?: Float32Array | null } = {},
): Promise<Routed> {
  const rows = logits.length / experts;
  const stride = chosen + 5;
  const region = upload(device, new Uint32Array(2 + rows * stride));
  const shares = await compute({
    device,
    capacity: { rows: 16 },
    sizes: { rows },
    record: (_, input) =>
      route(
        input(['rows', experts], logits),
        { chosen, normed, ...more },
        { region, stride, first: 2 },
        { bias: bias && device.tensor('weights', 'bias', [experts], bias) },
      ).shares,
  });
  const words = new Uint32Array(await device.read(region));
  const ids = shares.map((_, row) => [...words.subarray(2 + row * stride, 2 + row * stride + chosen)]);
  return { shares, ids };
}

it.each([
  [1, 1],
  [5, 3],
  [8, 8],
  [64, 8],
  [131, 40],
])('%i experts, %i of them', async (experts, chosen) => {
  const logits = new Random(experts).floats(7 * experts).map((value) => 6 * value);
  for (const normed of [false, true]) {
    const { shares, ids } = await routed(logits, experts, chosen, normed);
    expect(ids.length).toBe(7);
    ids.forEach((found, row) => {
      const values = [...logits.subarray(row * experts, (row + 1) * experts)];
      const order = values.map((_, i) => i).sort((a, b) => values[b]! - values[a]!);
      expect(found).toEqual(order.slice(0, chosen));
      const among = normed ? order.slice(0, chosen) : order;
      const sum = among.reduce((total, i) => total + Math.exp(values[i]!), 0);
      found.forEach((i, j) =>
        expectBelow(Math.abs(shares[row]![j]! / (Math.exp(values[i]!) / sum) - 1), TOLERANCE),
      );
    });
  }
});

it.each([
  [2, 2, 0.3],
  [6, 2, 0.4],
  [64, 2, 0.02],
  [131, 40, 1],
])('shares of near logits: %i experts, %i of them', async (experts, chosen, margin) => {
  const logits = new Random(experts).floats(7 * experts).map((value) => 6 * value);
  const { shares, ids } = await routed(logits, experts, chosen, false, { margin });
  ids.forEach((found, row) => {
    const values = [...logits.subarray(row * experts, (row + 1) * experts)];
    const order = values.map((_, i) => i).sort((a, b) => values[b]! - values[a]!);
    expect(found).toEqual(order.slice(0, chosen));
    found.forEach((expert, j) => {
      const best = values[expert]!;
      const near = order.slice(j).filter((i) => {
        const least = margin * Math.max(Math.abs(values[i]!), best);
        return best - values[i]! <= least;
      });
      const sum = near.reduce((total, i) => total + Math.exp(values[i]! - best), 0);
      expectBelow(Math.abs(shares[row]![j]! * sum - 1), TOLERANCE);
    });
  });
});

it('shares follow a factor on the logits and one for each expert', async () => {
  const [experts, chosen, rows] = [9, 3, 5];
  const random = new Random(3);
  const logits = random.floats(rows * experts).map((value) => 6 * value);
  const factors = random.floats(experts);
  const shares = await compute({
    device,
    capacity: { rows: 16 },
    sizes: { rows },
    record: (_, input) =>
      route(input(['rows', experts], logits), { chosen, normed: true, logitScale: 0.25 }, null, {
        gains: input([experts], factors),
      }).shares,
  });
  shares.forEach((found, row) => {
    const values = [...logits.subarray(row * experts, (row + 1) * experts)];
    const order = values.map((_, i) => i).sort((a, b) => values[b]! - values[a]!);
    const powers = order.slice(0, chosen).map((i) => Math.exp(0.25 * values[i]!));
    const sum = powers.reduce((a, b) => a + b);
    powers.forEach((power, j) => expectCloseTo(found[j], (power / sum) * factors[order[j]!]!, 5));
  });
});

it('the lowest experts of equal logits are taken, each once', async () => {
  const { ids, shares } = await routed(new Float32Array(40), 40, 4, true);
  expect(ids).toEqual([[0, 1, 2, 3]]);
  shares[0]!.forEach((share) => expectCloseTo(share, 0.25, 6));
});

it('logits far apart leave shares that are numbers', async () => {
  const { ids, shares } = await routed(Float32Array.from([-1e4, 3e4, 0, 2.9e4]), 4, 3, true);
  expect(ids).toEqual([[1, 3, 2]]);
  expect([...shares[0]!]).toEqual([1, 0, 0]);
});

interface Scored extends Routing {
  experts: number;
  biased: boolean;
}

/** The experts of a row in f64, best first, and their shares. */
function byScores(
  logits: readonly number[],
  bias: ArrayLike<number> | null,
  { chosen, normed, scores, groups, scale = 1 }: Routing,
): Map<number, number> {
  const largest = Math.max(...logits);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - largest), 0);
  const own = logits.map((logit) =>
    scores === 'sigmoid' ? 1 / (1 + Math.exp(-logit)) : Math.exp(logit - largest) / sum,
  );
  const choices = own.map((score, i) => score + (bias?.[i] ?? 0));
  const { count, chosen: open, by } = groups ?? { count: 1, chosen: 1, by: 1 };
  const size = logits.length / count;
  const valueOf = (group: number): number =>
    choices
      .slice(group * size, (group + 1) * size)
      .sort((a, b) => b - a)
      .slice(0, by)
      .reduce((total, value) => total + value, 0);
  const values = Array.from({ length: count }, (_, group) => valueOf(group));
  const best = values.map((_, group) => group).sort((a, b) => values[b]! - values[a]!);
  const taken = logits
    .map((_, i) => i)
    .filter((i) => best.slice(0, open).includes(Math.floor(i / size)))
    .sort((a, b) => choices[b]! - choices[a]!)
    .slice(0, chosen);
  const total = normed ? taken.reduce((before, i) => before + own[i]!, 0) : 1;
  return new Map(taken.map((i) => [i, (scale * own[i]!) / total]));
}

it.each<Scored>([
  { experts: 1, chosen: 1, normed: true, scores: 'sigmoid', biased: true },
  { experts: 67, chosen: 8, normed: true, scores: 'sigmoid', biased: true, scale: 2.5 },
  { experts: 384, chosen: 8, normed: false, scores: 'sigmoid', biased: false },
  {
    experts: 256,
    chosen: 8,
    normed: true,
    scores: 'sigmoid',
    biased: true,
    groups: { count: 8, chosen: 4, by: 2 },
  },
  {
    experts: 160,
    chosen: 6,
    normed: false,
    scores: 'softmax',
    biased: false,
    groups: { count: 8, chosen: 3, by: 1 },
    scale: 16,
  },
  {
    experts: 35,
    chosen: 3,
    normed: true,
    scores: 'softmax',
    biased: true,
    groups: { count: 35, chosen: 5, by: 2 },
  },
  { experts: 512, chosen: 10, normed: false, scores: 'softmax', biased: true },
])('scores: %o', async ({ experts, biased, ...routing }) => {
  const random = new Random(experts);
  const logits = random.floats(5 * experts).map((value) => 4 * value);
  const bias = biased ? random.floats(experts).map((value) => value / 4) : null;
  const { shares, ids } = await routed(logits, experts, routing.chosen, routing.normed, { ...routing, bias });
  expect(ids.length).toBe(5);
  ids.forEach((found, row) => {
    const right = byScores([...logits.subarray(row * experts, (row + 1) * experts)], bias, routing);
    expect(found).toEqual([...right.keys()]);
    [...right.values()].forEach((share, j) => expectBelow(Math.abs(shares[row]![j]! / share - 1), TOLERANCE));
  });
});

it('the lowest experts of the lowest groups are taken among equal scores', async () => {
  const groups = { count: 4, chosen: 2, by: 2 } as const;
  const { ids, shares } = await routed(new Float32Array(24), 24, 8, true, { scores: 'sigmoid', groups });
  expect(ids).toEqual([[0, 1, 2, 3, 4, 5, 6, 7]]);
  shares[0]!.forEach((share) => expectCloseTo(share, 0.125, 6));
});

it('scores that vanish leave shares that are numbers', async () => {
  const { shares } = await routed(new Float32Array(8).fill(-1e4), 8, 2, true, { scores: 'sigmoid' });
  expect([...shares[0]!]).toEqual([0, 0]);
});

it('tiles are enough whatever is chosen', () => {
  expect(tilesFor(8, 128, 1)).toBe(8);
  expect(tilesFor(8, 128, 4)).toBe(8); // each alone in its tile
  expect(tilesFor(64, 4, 16)).toBe(7); // 1, 17, 17 and 29 rows
});

it.each([
  [4, 0, 'route: 0 of 4'],
  [4, 5, 'route: 5 of 4'],
  [131, 65, 'route: 65 of 131'],
])('a router of %i experts cannot choose %i', (experts, chosen, message) => {
  const logits = new Tape(device, { rows: 1 }).tensor(['rows', experts]);
  expect(() => route(logits, { chosen, normed: true }, null)).toThrow(message);
});

it.each([
  [{ count: 3, chosen: 1, by: 1 }, 'route: 1 of 3 groups of 8 experts'],
  [{ count: 4, chosen: 5, by: 1 }, 'route: 5 of 4 groups'],
  [{ count: 4, chosen: 1, by: 1 }, 'of which 3 are chosen'],
] as const)('groups %o cannot hold the chosen', (groups, message) => {
  const logits = new Tape(device, { rows: 1 }).tensor(['rows', 8]);
  expect(() => route(logits, { chosen: 3, normed: true, groups }, null)).toThrow(message);
});

it('more experts than a workgroup holds are not planned', () => {
  const logits = new Tape(device, { rows: 1 }).tensor(['rows', 513]);
  expect(() => planExperts(route(logits, { chosen: 1, normed: true }, null))).toThrow(
    '513 experts, the most is 512',
  );
});
