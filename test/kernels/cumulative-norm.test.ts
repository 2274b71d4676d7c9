// Norms over time against f64: few and many rows, channels that pad a place, rows that do not count.

import { afterAll, beforeAll, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { cumulativeNorm } from '../../src/kernels/cumulative-norm.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const EPS = 1e-3;

it.each([
  { profile: 'cpu', rows: 40, places: 3, channels: 8, first: 1, end: 37, bindingLimit: undefined },
  { profile: 'discrete', rows: 3, places: 5, channels: 36, first: 0, end: 3, bindingLimit: undefined },
  // Strips of 16 and of 8 rows.
  { profile: 'discrete', rows: 40, places: 3, channels: 8, first: 1, end: 37, bindingLimit: 8 << 10 },
  { profile: 'cpu', rows: 37, places: 10, channels: 36, first: 0, end: 37, bindingLimit: 24 << 10 },
] as const)('%o', async ({ profile, bindingLimit, rows, places, channels, first, end }) => {
  const random = new Random(rows);
  const values = places * channels;
  const x = random.floats(rows * values).map((value, i) => value + i / 100);
  const weight = random.floats(channels);
  const on = disguise(device, { profile, ...(bindingLimit && { bindingLimit }) });
  const y = await compute({
    device: on,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      cumulativeNorm(
        input([1, rows, places, channels], x),
        on.tensor('weights', 'norm', [channels], weight),
        { eps: EPS, first, end },
      ),
  });
  let [sum, squares] = [0, 0];
  for (let row = 0; row < rows; row++) {
    const own = Float64Array.from(x.subarray(row * values, (row + 1) * values));
    const counted = (row - first + 1) * values;
    const isCounted = row >= first && row < end;
    if (isCounted) sum += own.reduce((all, value) => all + value, 0);
    const mean = sum / counted;
    if (isCounted) squares += own.reduce((all, value) => all + (value - mean) ** 2, 0);
    const rate = 1 / Math.sqrt(squares / counted + EPS);
    own.forEach((value, i) => {
      const [place, channel] = [Math.floor(i / channels), i % channels];
      const wanted = isCounted ? Math.max((value - mean) * rate * weight[channel]!, 0) : 0;
      expectBelow(Math.abs(y[row * places + place]![channel]! - wanted), 2e-5);
    });
  }
});
