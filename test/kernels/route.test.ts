import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { planExperts } from '../../src/kernels/expert-plan.ts';
import { route, tilesFor } from '../../src/kernels/route.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, upload } from './compute.ts';

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
): Promise<Routed> {
  const rows = logits.length / experts;
  const stride = chosen + 5;
  const region = upload(device, new Uint32Array(2 + rows * stride));
  const shares = await compute({
    device,
    capacity: { rows: 16 },
    sizes: { rows },
    record: (_, input) =>
      route(input(['rows', experts], logits), { chosen, normed }, { region, stride, first: 2 }).shares,
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
        expect(Math.abs(shares[row]![j]! / (Math.exp(values[i]!) / sum) - 1)).toBeLessThan(TOLERANCE),
      );
    });
  }
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
      route(
        input(['rows', experts], logits),
        { chosen, normed: true, scale: 0.25 },
        null,
        input([experts], factors),
      ).shares,
  });
  shares.forEach((found, row) => {
    const values = [...logits.subarray(row * experts, (row + 1) * experts)];
    const order = values.map((_, i) => i).sort((a, b) => values[b]! - values[a]!);
    const powers = order.slice(0, chosen).map((i) => Math.exp(0.25 * values[i]!));
    const sum = powers.reduce((a, b) => a + b);
    powers.forEach((power, j) => expect(found[j]).toBeCloseTo((power / sum) * factors[order[j]!]!, 5));
  });
});

it('the lowest experts of equal logits are taken, each once', async () => {
  const { ids, shares } = await routed(new Float32Array(40), 40, 4, true);
  expect(ids).toEqual([[0, 1, 2, 3]]);
  shares[0]!.forEach((share) => expect(share).toBeCloseTo(0.25, 6));
});

it('logits far apart leave shares that are numbers', async () => {
  const { ids, shares } = await routed(Float32Array.from([-1e4, 3e4, 0, 2.9e4]), 4, 3, true);
  expect(ids).toEqual([[1, 3, 2]]);
  expect([...shares[0]!]).toEqual([1, 0, 0]);
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

it('more experts than a workgroup holds are not planned', () => {
  const logits = new Tape(device, { rows: 1 }).tensor(['rows', 513]);
  expect(() => planExperts(route(logits, { chosen: 1, normed: true }, null))).toThrow(
    '513 experts, the most is 512',
  );
});
