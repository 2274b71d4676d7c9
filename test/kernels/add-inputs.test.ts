// Rows of media are added to the states of the tokens that stand for them, and to no others, or to those of all tokens.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { paddedColumns } from '../../src/gpu/tensor.ts';
import { addInputs } from '../../src/kernels/add-inputs.ts';
import { FROM_INPUT, FROM_SLOT, ROW_WORDS } from '../../src/kernels/batch.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { batchOf, compute, Random, upload } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** A token, rows of inputs, and a token that was sampled in a slot. */
const SOURCES = [7, FROM_INPUT + 2, FROM_INPUT, 0, FROM_SLOT + 1, FROM_INPUT + 4];
const INPUTS = 6;

it.each([
  [1, false],
  [32, false],
  [48, true],
  [131, false],
  [131, true],
])('%i columns, to each row: %s', async (columns, isEach) => {
  const random = new Random(columns);
  const stride = paddedColumns(columns);
  const x = random.floats(SOURCES.length * columns);
  const added = new Float32Array(INPUTS * stride);
  for (let row = 0; row < INPUTS; row++) added.set(random.floats(columns), row * stride);
  const rows = new Uint32Array(SOURCES.length * ROW_WORDS);
  SOURCES.forEach((source, i) => rows.set([source, 0, 0, 0], i * ROW_WORDS));
  const batch = batchOf(device, { rows: upload(device, rows) });
  const inputs = upload(device, new Uint32Array(added.buffer));
  const found = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => addInputs(input([SOURCES.length, columns], x), batch, inputs, { isEach }),
  });
  expect(found).toHaveLength(SOURCES.length);
  found.forEach((row, i) => {
    const source = SOURCES[i]!;
    const isInput = source >= FROM_INPUT && source < FROM_SLOT;
    row.forEach((value, column) => {
      const from = isEach ? i : source - FROM_INPUT;
      const more = isEach || isInput ? added[from * stride + column]! : 0;
      expect(value).toBe(Math.fround(x[i * columns + column]! + more));
    });
  });
});
