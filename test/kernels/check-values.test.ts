// Counts of NaN, infinite and oversize values: each kind of number in each source format, at any position, separately per tensor.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Region } from '../../src/gpu/tensor.ts';
import { CHECKED_BYTES, checkValues, COUNTER_BYTES, readCounts } from '../../src/kernels/check-values.ts';
import { type NumberSource } from '../../src/kernels/formats.ts';
import { runOnce } from '../../src/kernels/run-once.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { Random, upload } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** Bits of values, by what they are; the finite ones include the largest that passes, subnormal numbers and both zeros. */
const BITS = {
  f32: {
    finite: [0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x3f800000, 0xbf800001, 0x5f7fffff, 0xdf7fffff],
    nonFinite: [0x7f800000, 0xff800000, 0x7f800001, 0x7fc00000, 0xffffffff, 0xff800001],
    oversize: [0x5f800000, 0xdf800000, 0x7f7fffff, 0xff7fffff, 0x7f61b1e6],
  },
  bf16: {
    finite: [0, 0x8000, 1, 0x807f, 0x0080, 0x3f80, 0xbf81, 0x5f7f, 0xdf7f],
    nonFinite: [0x7f80, 0xff80, 0x7f81, 0x7fc0, 0xffff],
    oversize: [0x5f80, 0xdf80, 0x7f7f, 0xff7f],
  },
  f16: {
    finite: [0, 0x8000, 1, 0x83ff, 0x0400, 0x3c00, 0xbc01, 0x7bff, 0xfbff],
    nonFinite: [0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xffff],
    oversize: [],
  },
} satisfies Record<NumberSource, Record<string, number[]>>;

const FORMATS = Object.keys(BITS) as NumberSource[];
const valuesIn = (source: NumberSource): number => (source === 'f32' ? 4 : 8);

function counters(tensors: number, on = device): Region {
  return upload(on, new Uint32Array((tensors * COUNTER_BYTES) / 4));
}

/** The bytes of these values, padded with zeros to what is checked at once. */
function bytesOf(source: NumberSource, bits: readonly number[]): Uint8Array {
  const words = source === 'f32' ? Uint32Array.from(bits) : Uint16Array.from(bits);
  const bytes = new Uint8Array(Math.ceil(words.byteLength / CHECKED_BYTES) * CHECKED_BYTES);
  bytes.set(new Uint8Array(words.buffer));
  return bytes;
}

function check(
  source: NumberSource,
  bits: readonly number[],
  into: { counts: Region; tensor: number },
): void {
  const bytes = bytesOf(source, bits);
  runOnce(device, (tape) =>
    checkValues(tape, { raw: upload(device, bytes), source, bytes: bytes.length }, into),
  );
}

it.each(FORMATS)(
  '%s: each number is of its kind, at each place among those checked at once',
  async (source) => {
    const kinds = BITS[source];
    const cases = Object.entries(kinds).flatMap(([kind, all]) =>
      all.flatMap((bits) => Array.from({ length: valuesIn(source) }, (_, place) => ({ kind, bits, place }))),
    );
    const counts = counters(cases.length);
    cases.forEach(({ bits, place }, tensor) => {
      const values = new Array<number>(valuesIn(source)).fill(kinds.finite[5]!);
      values[place] = bits;
      check(source, values, { counts, tensor });
    });
    const wrong = (await readCounts(device, counts, cases.length)).flatMap(({ nonFinite, oversize }, i) => {
      const { kind, bits, place } = cases[i]!;
      const right = nonFinite === Number(kind === 'nonFinite') && oversize === Number(kind === 'oversize');
      return right ? [] : [`${kind} 0x${bits.toString(16)} at ${place}: ${nonFinite}, ${oversize}`];
    });
    expect(wrong).toEqual([]);
    expect(device.takeError()).toBeNull();
  },
);

it.each(FORMATS)('%s: many values in several chunks, of more workgroups than one', async (source) => {
  const random = new Random(5);
  const kinds = BITS[source];
  const counts = counters(3);
  const wanted = { nonFinite: 0, oversize: 0 };
  const draw = (of: readonly number[]): number => of[random.integer(of.length)]!;
  for (const length of [1, 7, 20_011, 65_536]) {
    const values = Array.from({ length }, () => {
      const roll = random.integer(50);
      if (roll === 0) return (wanted.nonFinite++, draw(kinds.nonFinite));
      if (roll === 1 && kinds.oversize.length > 0) return (wanted.oversize++, draw(kinds.oversize));
      return draw(kinds.finite);
    });
    check(source, values, { counts, tensor: 1 });
  }
  expect(await readCounts(device, counts, 3)).toEqual([
    { nonFinite: 0, oversize: 0, isZero: true },
    { ...wanted, isZero: false },
    { nonFinite: 0, oversize: 0, isZero: true },
  ]);
});

it.each(FORMATS)(
  '%s: zeros of both signs are zero, the smallest number at any place is not',
  async (source) => {
    const [zero, minusZero, smallest] = BITS[source].finite as [number, number, number];
    const length = valuesIn(source);
    const zeros = Array.from({ length: 3 * length }, (_, i) => (i % 2 === 0 ? zero : minusZero));
    const counts = counters(length + 1);
    for (let place = 0; place < length; place++)
      check(source, zeros.with(length + place, smallest), { counts, tensor: place });
    check(source, zeros, { counts, tensor: length });
    const found = await readCounts(device, counts, length + 1);
    expect(found.map(({ isZero }) => isZero)).toEqual([...new Array<boolean>(length).fill(false), true]);
  },
);

it('values are counted on an adapter with few workgroups', async () => {
  const narrow = disguise(device, { maxWorkgroups: 2 });
  const counts = counters(1, narrow);
  const bytes = bytesOf('f16', new Array<number>(200_000).fill(0x7e00));
  const chunk = { raw: upload(narrow, bytes), source: 'f16' as const, bytes: bytes.length };
  runOnce(narrow, (tape) => checkValues(tape, chunk, { counts, tensor: 0 }));
  expect(await readCounts(narrow, counts, 1)).toEqual([{ nonFinite: 200_000, oversize: 0, isZero: false }]);
});

it('bytes that it cannot check whole are a mistake of the caller', () => {
  const raw = upload(device, new Uint8Array(32));
  const into = { counts: counters(1), tensor: 0 };
  expect(() => runOnce(device, (tape) => checkValues(tape, { raw, source: 'f16', bytes: 20 }, into))).toThrow(
    /20 bytes are not a multiple of 16/,
  );
});
