// Latents out of pages in any order, against the numbers that were stored.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { KvFormat, KvPages } from '../../src/kernels/batch.ts';
import { latentRows } from '../../src/kernels/latent-rows.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, f16Value, Random, upload } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each<KvFormat>(['f32', 'f16'])('rows of two pages of a segment, %s', async (format) => {
  const [rank, rotated, dims] = [20, 12, 32];
  const bytes = format === 'f16' ? 2 : 4;
  const words = Uint32Array.from({ length: (3 * 32 * dims * bytes) / 4 }, (_, i) => {
    const value = Math.fround(new Random(i).float());
    return format === 'f32' ? new Uint32Array(Float32Array.of(value).buffer)[0]! : 0x30003400 + i * 0x10007;
  });
  const stored = (page: number, d: number, token: number): number => {
    if (format === 'f32') return new Float32Array(words.buffer)[(page * dims + d) * 32 + token]!;
    return f16Value((words[(page * dims + d - (d % 2)) * 16 + token]! >>> (16 * (d % 2))) & 0xffff);
  };
  const pages = upload(device, Uint32Array.of(9, 2, 0));
  const table = { pages, places: pages };
  const kv: KvPages = { kind: 'kv', table, format, keys: upload(device, words), values: null };
  const range = { first: 1, count: () => 2 };
  for (const part of ['normed', 'rotated'] as const) {
    const rows = await compute({
      ...{ device, capacity: {}, sizes: {} },
      record: (tape) => latentRows(tape, kv, { rank, rotated }, range)[part],
    });
    const [from, count] = part === 'normed' ? [0, rank] : [rank, rotated];
    const wanted = Array.from({ length: 64 }, (_, row) =>
      Array.from({ length: count }, (_, d) => stored([2, 0][row >> 5]!, from + d, row % 32)),
    );
    expect(rows.map((row) => [...row])).toEqual(wanted);
  }
});
