import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { copy, fillTokens, joinTokens, takeTokens } from '../../src/kernels/copy-rows.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** Rows of a tensor of sequences. */
function rowsOf(values: Float32Array, columns: number): Float32Array[] {
  return Array.from({ length: values.length / columns }, (_, i) =>
    values.slice(i * columns, (i + 1) * columns),
  );
}

const SHAPES = [
  { items: 1, n: 1, m: 1, columns: 1 },
  { items: 3, n: 7, m: 2, columns: 33 },
  { items: 2, n: 65, m: 31, columns: 100 },
];

for (const bindingLimit of [undefined, 16 << 10]) {
  const on = () => (bindingLimit === undefined ? device : disguise(device, { bindingLimit }));

  it.each(SHAPES)(`%j in bindings of ${bindingLimit ?? 'any size'}`, async ({ items, n, m, columns }) => {
    const random = new Random(columns);
    const a = random.floats(items * n * columns);
    const b = random.floats(items * m * columns);
    const fill = random.floats(columns);
    const [aRows, bRows] = [rowsOf(a, columns), rowsOf(b, columns)];
    const job = { device: on(), capacity: {}, sizes: {} };
    // Each in a buffer of its own, because two dispatches read them and places on the tape would be shared.
    const own = (shape: number[], values: Float32Array) => on().tensor('step', 'input', shape, values);
    const aOwn = own([items, n, columns], a);
    const bOwn = own([items, m, columns], b);
    const fillOwn = own([1, columns], fill);

    expect(await compute({ ...job, record: (_, input) => copy(input([items, n, columns], a)) })).toEqual(
      aRows,
    );

    const joined = await compute({
      ...job,
      record: (tape) => joinTokens(aOwn.on(tape), bOwn.on(tape)),
    });
    expect(joined).toEqual(
      Array.from({ length: items }, (_, i) => [
        ...aRows.slice(i * n, (i + 1) * n),
        ...bRows.slice(i * m, (i + 1) * m),
      ]).flat(),
    );

    const taken = await compute({
      ...job,
      record: (tape) => takeTokens(aOwn.on(tape), n >> 1, n - (n >> 1)),
    });
    expect(taken).toEqual(
      Array.from({ length: items }, (_, i) => aRows.slice(i * n + (n >> 1), (i + 1) * n)).flat(),
    );

    const filled = await compute({
      ...job,
      record: (tape) => fillTokens(aOwn.on(tape), fillOwn, n + m),
    });
    expect(filled).toEqual(
      Array.from({ length: items }, (_, i) => [
        ...aRows.slice(i * n, (i + 1) * n),
        ...Array.from({ length: m }, () => fill),
      ]).flat(),
    );
  });
}
