import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { embedTokens } from '../../src/kernels/embed-tokens.ts';
import { type FormatName as Format } from '../../src/kernels/formats.ts';
import { stacked } from '../../src/kernels/matrix.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { packMatrix, weightsFor } from './packed.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

async function expectRows(
  on: Device,
  format: Format,
  vocabulary: number,
  k: number,
  placed: boolean,
  { first = 0, typed = false } = {},
) {
  const random = new Random(vocabulary + k);
  const weights = weightsFor(format, vocabulary, k, random);
  const matrix = packMatrix(on, format, k, stacked([{ name: 'tokens', rows: vocabulary }]), weights);
  const places = random.floats(5 * k);
  const kinds = random.floats(2 * k);
  const types = on.tensor('weights', 'types', [2, k], kinds);
  const positions = placed ? on.tensor('weights', 'positions', [5, k], places) : null;
  const ids = [0, vocabulary - 1, 3 % vocabulary, 40 % vocabulary, 0, 1 % vocabulary];
  const y = await compute({
    device: on,
    capacity: {},
    sizes: {},
    record: (tape) =>
      embedTokens(
        tape,
        on.tensor('step', 'ids', [2, 3], Uint32Array.from(ids)),
        matrix,
        positions && { positions, first, ...(typed ? { types } : {}) },
      ),
  });
  ids.forEach((id, row) =>
    y[row]!.forEach((value, d) => {
      const place = placed ? places[(first + (row % 3)) * k + d]! : 0;
      const added = typed ? Math.fround(place + kinds[d]!) : place;
      expect(value).toBe(Math.fround(weights[id * k + d]! + added));
    }),
  );
  return matrix;
}

it.each(['f32', 'f16', 'bf16', 'int8', 'int4'] as const)('embedded tokens in %s', async (format) => {
  await expectRows(device, format, 67, 33, true);
  await expectRows(device, format, 1, 1, false);
});

it('places counted from another row, and a type', async () => {
  await expectRows(device, 'f32', 67, 33, true, { first: 2 });
  await expectRows(device, 'f16', 67, 64, true, { first: 2, typed: true });
});

it('a table in windows of 256 KiB', async () => {
  const narrow = disguise(device, { bindingLimit: 256 << 10 });
  const { windows } = await expectRows(narrow, 'f32', 1500, 96, true);
  expect(windows.length).toBeGreaterThan(1);
});

it('too few positions are refused', async () => {
  const matrix = packMatrix(device, 'f32', 4, stacked([{ name: 'tokens', rows: 4 }]), new Float32Array(16));
  const positions = device.tensor('weights', 'positions', [2, 4], new Float32Array(8));
  const ids = device.tensor('step', 'ids', [1, 3], new Uint32Array(3));
  const record = compute({
    device,
    capacity: {},
    sizes: {},
    record: (tape) => embedTokens(tape, ids, matrix, { positions }),
  });
  await expect(record).rejects.toThrow(/positions of \[2, 4\] for 3 tokens/);
});
