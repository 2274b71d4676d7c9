import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { embedExtra, FIRST_EXTRA_ID } from '../../src/kernels/embed-extra.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1, 4, 0],
  [2, 7, 68, 0],
  [5, 7, 32, 2048],
])('%i texts of %i tokens of %i columns, bindings of %i', async (items, tokens, columns, bindingLimit) => {
  const random = new Random(tokens);
  const own = bindingLimit === 0 ? device : disguise(device, { bindingLimit });
  const [rows, positions, extra] = [items * tokens, tokens, 3].map((count) => random.floats(count * columns));
  const ids = Uint32Array.from({ length: items * tokens }, (_, i) =>
    i % 2 === 0 ? FIRST_EXTRA_ID + (i % 3) : i,
  );
  const idRows = own.tensor('step', 'ids', [items, tokens], ids);
  const found = await compute({
    device: own,
    capacity: {},
    sizes: {},
    record: (tape, input) =>
      embedExtra(
        input([items, tokens, columns], rows!),
        idRows.on(tape),
        input([3, columns], extra!),
        input([tokens, columns], positions!),
      ),
  });
  found.forEach((row, i) => {
    const id = ids[i]! - FIRST_EXTRA_ID;
    row.forEach((value, at) => {
      const wanted =
        id < 0
          ? rows![i * columns + at]!
          : Math.fround(extra![id * columns + at]! + positions![(i % tokens) * columns + at]!);
      expect(value).toBe(wanted);
    });
  });
  own.free(idRows.region!.buffer);
});
