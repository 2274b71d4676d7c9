// Slots of experts whose matrices are cut into windows that end within an expert, on both sides; and which experts give theirs away.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { expertRequests } from '../../../src/engine/weights/hosted-experts.ts';
import { LayerSlots } from '../../../src/engine/weights/layer-slots.ts';
import type { PlannedRequest } from '../../../src/engine/weights/plan.ts';
import { SlotCache } from '../../../src/engine/weights/slot-cache.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Region } from '../../../src/gpu/tensor.ts';
import { FORMATS, groupBytes, type WeightFormat } from '../../../src/kernels/formats.ts';
import {
  allocateMatrix,
  expertGroups,
  expertParts,
  stacked,
  type MatrixWindow,
} from '../../../src/kernels/matrix.ts';
import { disguise, openTestDevice } from '../../gpu/test-device.ts';
import { Random } from '../../kernels/compute.ts';

const [EXPERTS, ROWS, K] = [6, 70, 64];

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** The bytes of all windows, one after the other. */
async function bytesOf(
  windows: readonly MatrixWindow[],
  part: 'codes' | 'scales',
  bytes: number,
): Promise<Buffer> {
  const regions = windows.map((window): Region => ({ ...window[part]!, size: window.groups * bytes }));
  return Buffer.concat(
    (await Promise.all(regions.map((one) => device.read(one)))).map((one) => Buffer.from(one)),
  );
}

it('a slot has the bytes of its expert, whose groups of columns lie in several windows', async () => {
  const format = FORMATS.int4;
  const each = groupBytes(format, K / 32);
  // An expert has 4 groups, and a window 7.
  const on = disguise(device, { bindingLimit: 7 * each.codes });
  const parts = expertParts(
    Array.from({ length: EXPERTS }, (_, i) => stacked([{ name: `down ${i}`, rows: ROWS }])),
  );
  const matrix = allocateMatrix(on, format, K, parts, { experts: EXPERTS });
  const { windows } = matrix;
  const random = new Random(3);
  for (const region of windows.flatMap(({ codes, scales }) => [codes, scales!]))
    on.gpu.queue.writeBuffer(region.buffer, 0, random.floats(region.size / 4));
  expect(windows.map(({ groups }) => groups)).toEqual([7, 7, 7, 3]);
  const counters = { hits: 0, misses: 0, bytes: 0 };
  const slots = new LayerSlots(on, 3, [{ matrix, windows }], counters);
  expect(matrix.windows.map(({ groups }) => groups)).toEqual([7, 5]);
  for (const experts of [
    [0, 4],
    [1, 4, 5],
  ]) {
    for (const round of slots.bring(experts)) {
      const encoder = on.gpu.createCommandEncoder();
      await round(encoder);
      on.gpu.queue.submit([encoder.finish()]);
    }
  }
  expect(counters).toEqual({ hits: 1, misses: 4, bytes: 4 * 4 * (each.codes + each.scales) });
  const table = new Uint32Array(await on.read(slots.table)).slice(0, EXPERTS);
  const none = 0xffffffff;
  expect([...table]).toEqual([none, 2, none, none, 1, 0]);
  for (const part of ['codes', 'scales'] as const) {
    const all = await bytesOf(windows, part, each[part]);
    const held = await bytesOf(matrix.windows, part, each[part]);
    const size = expertGroups(matrix) * each[part];
    for (const [expert, slot] of table.entries()) {
      if (slot === none) continue;
      const own = all.subarray(expert * size, (expert + 1) * size);
      expect(held.subarray(slot * size, (slot + 1) * size).equals(own)).toBe(true);
    }
  }
  slots.free();
});

it('the least recently used expert gives its slot away, and none of a round does', () => {
  const cache = new SlotCache(3);
  const rounds = (...experts: number[]): [number, number][][] =>
    cache.rounds(experts).map(({ missing }) => missing.map(([expert, slot]) => [expert, slot]));
  expect(rounds(4, 7)).toEqual([
    [
      [4, 0],
      [7, 1],
    ],
  ]);
  expect(rounds(4, 9)).toEqual([[[9, 2]]]);
  expect(rounds(5)).toEqual([[[5, 1]]]);
  expect(rounds(4)).toEqual([[]]);
  // 9 is the oldest, and in the first round.
  expect(rounds(1, 2, 3, 9)).toEqual([
    [
      [1, 1],
      [2, 0],
    ],
    [[3, 2]],
  ]);
});

it('experts of several formats, and layers behind the first ones, stay on the device', () => {
  const request = (name: string, role: string, ...formats: WeightFormat[]): PlannedRequest => {
    const windows = formats.map((format) => ({ format, codes: 1, scales: 0 }));
    return { request: { names: [name], role, experts: 4 }, matrix: { windows } } as unknown as PlannedRequest;
  };
  const { int4, q6_k } = FORMATS;
  const requests = [
    request('m.layers.0.mlp.up', 'linear', int4),
    request('m.layers.1.mlp.experts.0.up', 'expert', int4, int4),
    request('m.layers.1.mlp.experts.0.down', 'expert', q6_k),
    request('m.layers.2.mlp.experts.0.up', 'expert', int4),
    request('m.layers.2.mlp.experts.0.down', 'expert', int4, q6_k),
    request('m.layers.3.mlp.experts.0.up', 'expert', int4),
  ];
  const plan = { requests, bytes: 0 };
  expect(expertRequests(plan, 1)).toEqual({ hosted: [], kept: 0 });
  expect(expertRequests(plan, 3)).toEqual({ hosted: [[1, 2]], kept: 1 });
  expect(expertRequests(plan, Infinity)).toEqual({ hosted: [[1, 2], [5]], kept: 1 });
});
