import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { attentionWeights } from '../../src/kernels/attention-weights.ts';
import type { KvFormat } from '../../src/kernels/batch.ts';
import { paddedHead } from '../../src/kernels/resize-heads.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { problem } from './attention-problem.ts';
import { batchOf, compute, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const TOLERANCE = 1e-5;
/** A text of 103 keys behind one of 40. */
const SEQUENCES = [
  { from: 20, rows: 20 },
  { from: 80, rows: 23 },
];

it.each<[KvFormat, number]>([
  ['f32', 8],
  ['f16', 6],
])('weights of some heads in %s, of %i dims', async (format, dims) => {
  const shape = { heads: 6, kvHeads: 3, dims };
  const of = problem(device, shape, format, null, SEQUENCES);
  const [chosen, keys] = [[4, 0, 5], 37];
  // Tiles of both texts, of which the last is not full.
  const tables = [0, of.tables[0]!.length];
  const tiles = [
    [0, 16, tables[0]!, 20, 0],
    [16, 4, tables[0]!, 36, 0],
    [20, 9, tables[1]!, 80, 0],
  ];
  const rows = 29;
  const width = paddedHead(dims);
  const q = new Float32Array(rows * 6 * width).map((_, i) =>
    i % width < dims ? of.q[Math.floor(i / width) * dims + (i % width)]! : 0,
  );
  const found = await compute({
    device,
    capacity: { rows: 32, tiles: 4, tileRows: 16 },
    sizes: { rows, tiles: tiles.length, tileRows: 16 },
    record: (_, input) =>
      attentionWeights(
        input(['rows', 6 * width], q),
        batchOf(device, { tiles: upload(device, Uint32Array.from(tiles.flat())) }),
        shape,
        of.kv,
        { chosen, keys },
      ),
  });
  expect(found.length).toBe(rows);
  for (const [row, weights] of found.entries()) {
    expect(weights.length).toBe(chosen.length * keys);
    const known = of.keys[row < 20 ? 0 : 1]!;
    for (const [i, head] of chosen.entries()) {
      const scores = Array.from({ length: keys }, (_, key) => {
        let sum = 0;
        for (let d = 0; d < dims; d++)
          sum += of.q[(row * 6 + head) * dims + d]! * known[key]![Math.floor(head / 2) * dims + d]!;
        return sum;
      });
      const most = Math.max(...scores);
      const total = scores.reduce((sum, score) => sum + Math.exp(score - most), 0);
      for (let key = 0; key < keys; key++)
        expectBelow(Math.abs(weights[i * keys + key]! - Math.exp(scores[key]! - most) / total), TOLERANCE);
    }
  }
});
