// Keys and values without queries, as the rows that a decoder attends to beside its own have them.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { PAGE_TOKENS } from '../../src/kernels/batch.ts';
import { paddedHead } from '../../src/kernels/resize-heads.ts';
import { writeKv } from '../../src/kernels/rope-kv.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, poison, Random, upload } from './compute.ts';
import { readPages, tableOf } from './written-pages.ts';

const PAGES = 3;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  ['cpu', 8],
  ['cpu', 26],
  ['discrete', 8],
  ['discrete', 64],
] as const)(
  '%s: keys and values of %i dimensions without queries are written to their pages',
  async (profile, dims) => {
    const on = disguise(device, { profile });
    const [kvHeads, stored, places] = [3, paddedHead(dims), [2, 40, 95]];
    const bytes = PAGES * kvHeads * PAGE_TOKENS * stored * 4;
    const [keys, values] = [0, 1].map(() => upload(on, new Uint8Array(bytes)));
    for (const region of [keys!, values!]) poison(on, region);
    const width = 2 * kvHeads * dims;
    const x = new Random(dims).floats(places.length * width);
    await compute({
      device: on,
      capacity: { rows: 4 },
      sizes: { rows: places.length },
      record: (_, input) => {
        const rows = input(['rows', width], x);
        const kv = {
          kind: 'kv',
          table: tableOf(on, places),
          format: 'f32',
          keys: keys!,
          values: values!,
        } as const;
        writeKv(rows, { kvHeads, dims }, kv);
        return rows;
      },
    });
    const pages = await readPages(on, keys!, values!, 'f32', { heads: kvHeads, kvHeads, dims: stored });
    places.forEach((place, row) => {
      for (let i = 0; i < kvHeads * dims; i++) {
        const [head, d] = [Math.floor(i / dims), i % dims];
        expect(pages.key(place, head, d)).toBe(x[row * width + i]);
        expect(pages.value(place, head, d)).toBe(x[row * width + kvHeads * dims + i]);
      }
    });
    expect([pages.key(3, 0, 0), pages.value(96 - 2, 2, 1)]).toEqual([undefined, undefined]);
  },
);
