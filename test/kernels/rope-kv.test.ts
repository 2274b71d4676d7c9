// Splitting, normalizing and rotating heads and the writes into pages, against f64; other places in the pages are not written.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { attention } from '../../src/kernels/attention.ts';
import { PAGE_TOKENS, type HeadShape, type KvPages, type TextBatch } from '../../src/kernels/batch.ts';
import { paddedHead } from '../../src/kernels/resize-heads.ts';
import { ropeKv } from '../../src/kernels/rope-kv.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, poison, Random, upload } from './compute.ts';
import { expectBelow, expectCloseTo } from './expect-each.ts';
import { PAGES, readPages, tableOf } from './written-pages.ts';

const EPS = 1e-6;
const TOLERANCE = { f32: 3e-6, f16: 2 ** -10 };

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** One head normed (with weights, which are applied behind the rotation if `isBehind`) and rotated. */
function turned(
  x: ArrayLike<number>,
  angles: number[],
  norm: Float32Array | null,
  { dims, rotated = dims, pairs = 'half' }: HeadShape,
  isBehind = false,
): number[] {
  const values = Array.from(x);
  const mean = values.reduce((sum, value) => sum + value * value, 0) / values.length;
  const weight = (d: number, isHere: boolean) => (norm && isHere ? norm[d]! : 1);
  const size = norm ? Math.sqrt(mean + EPS) : 1;
  const normed = values.map((value, d) => (value / size) * weight(d, !isBehind));
  const half = rotated / 2;
  return normed.map((value, d) => {
    if (d >= rotated) return value * weight(d, isBehind);
    const [angle, isFirst, other] =
      pairs === 'half'
        ? [angles[d % half]!, d < half, d < half ? d + half : d - half]
        : [angles[d >> 1]!, d % 2 === 0, d ^ 1];
    const partner = normed[other]! * Math.sin(angle);
    return (value * Math.cos(angle) + (isFirst ? -partner : partner)) * weight(d, isBehind);
  });
}

const SHAPES: HeadShape[] = [
  { heads: 1, kvHeads: 1, dims: 4 },
  { heads: 3, kvHeads: 3, dims: 20 },
  { heads: 6, kvHeads: 2, dims: 16, scale: 0.3 },
  { heads: 28, kvHeads: 4, dims: 24 }, // heads just over a workgroup
  { heads: 2, kvHeads: 1, dims: 128 },
  { heads: 2, kvHeads: 1, dims: 16, rotated: 12 },
  { heads: 3, kvHeads: 1, dims: 24, pairs: 'adjacent' },
  { heads: 2, kvHeads: 2, dims: 32, rotated: 8, pairs: 'adjacent' },
  { heads: 3, kvHeads: 1, dims: 16, gated: true },
  { heads: 5, kvHeads: 5, dims: 12, rotated: 4, order: 'groups' },
  { heads: 6, kvHeads: 2, dims: 8, order: 'groups' },
  { heads: 3, kvHeads: 3, dims: 8, order: 'values-first' },
  { heads: 1, kvHeads: 1, dims: 2 },
  { heads: 3, kvHeads: 1, dims: 54 },
  { heads: 4, kvHeads: 2, dims: 16, rotated: 10 },
  { heads: 2, kvHeads: 2, dims: 26, rotated: 6, order: 'groups' },
  { heads: 3, kvHeads: 1, dims: 22, rotated: 10, pairs: 'adjacent' },
];

/** The shapes that differ in what is turned with what. */
const TURNED = SHAPES.filter(({ dims, rotated }) => rotated === 12 || (dims === 22 && rotated === 10));

/** Profile, format of pages, whether heads are normed (`turned`: with weights behind the rotation), and whether they are rotated. */
const CASES = [
  ...(['f32', 'f16'] as const).flatMap((format) => [
    ['cpu', format, false, true] as const,
    ['cpu', format, true, true] as const,
    ['cpu', format, false, false] as const,
  ]),
  ['discrete', 'f16', false, true] as const,
  ['discrete', 'f32', true, true] as const,
  ['discrete', 'f16', false, false] as const,
  ['cpu', 'f16', 'turned', true] as const,
  ['discrete', 'f16', 'turned', true] as const,
];

for (const [profile, format, hasNorm, hasRope] of CASES) {
  describe(`profile ${profile}, pages in ${format}, ${hasNorm ? `normed${hasNorm === 'turned' ? ' and turned' : ''}` : 'plain'} heads${hasRope ? '' : ' that are not rotated'}`, () => {
    it.each(hasNorm === 'turned' ? TURNED : SHAPES)('$heads + 2 · $kvHeads heads of $dims', async (shape) => {
      const on = disguise(device, { profile });
      const isTurned = hasNorm === 'turned';
      const { heads, kvHeads, dims, rotated = dims, scale = 1 / Math.sqrt(dims) } = shape;
      const random = new Random(heads * 100 + dims);
      const perQuery = shape.gated ? 2 : 1;
      const width = (perQuery * heads + 2 * kvHeads) * dims;
      const areNeighbours = shape.order === 'groups';
      const group = heads / kvHeads;
      /** Columns of a query, a key and a value, in heads. */
      const [keysAt, valuesAt] = shape.order === 'values-first' ? [kvHeads, 0] : [0, kvHeads];
      const query = (i: number) =>
        areNeighbours ? Math.floor(i / group) * (group + 2) + (i % group) : perQuery * i;
      const key = (i: number) => (areNeighbours ? i * (group + 2) + group : perQuery * heads + keysAt + i);
      const value = (i: number) =>
        areNeighbours ? i * (group + 2) + group + 1 : perQuery * heads + valuesAt + i;
      const places = [64, 31, 32, 5, 95];
      const qkv = random.floats(places.length * width);
      const angles = places.map(() =>
        Array.from({ length: rotated / 2 }, () => (hasRope ? random.float() * 3 : 0)),
      );
      const norms = hasNorm ? { q: random.floats(dims), k: random.floats(dims) } : null;

      const cosSin = Float32Array.from(angles.flat().flatMap((angle) => [Math.cos(angle), Math.sin(angle)]));
      const stored = paddedHead(dims);
      const bytes = (PAGES * kvHeads * PAGE_TOKENS * stored * 4) / (format === 'f16' ? 2 : 1);
      const keys = upload(on, new Uint8Array(bytes));
      const values = upload(on, new Uint8Array(bytes));
      for (const region of [keys, values]) poison(on, region);
      const weight = (of: Float32Array) => on.tensor('weights', 'norm', [dims], of);
      const y = await compute({
        device: on,
        capacity: { rows: 8 },
        sizes: { rows: places.length },
        record: (_, input) =>
          ropeKv(
            input(['rows', width], qkv),
            hasRope ? input(['rows', rotated], cosSin) : null,
            shape,
            { kind: 'kv', table: tableOf(on, places), format, keys, values },
            norms && { q: weight(norms.q), k: weight(norms.k), eps: EPS, turned: isTurned },
          ),
      });

      const pages = await readPages(on, keys, values, format, { ...shape, dims: stored });
      let [ofQ, ofK, ofV] = [0, 0, 0];
      const worse = (a: number, b: number) => (b <= a ? a : Number.isNaN(b) ? Infinity : b);
      places.forEach((place, row) => {
        const head = (i: number) => qkv.subarray(row * width + i * dims, row * width + (i + 1) * dims);
        for (let i = 0; i < heads; i++) {
          turned(head(query(i)), angles[row]!, norms && norms.q, shape, isTurned).forEach((wanted, d) => {
            ofQ = worse(ofQ, Math.abs(y[row]![i * stored + d]! - wanted * scale));
          });
          expect(y[row]!.slice(i * stored + dims, (i + 1) * stored)).toEqual(new Float32Array(stored - dims));
        }
        for (let i = 0; i < kvHeads; i++) {
          turned(head(key(i)), angles[row]!, norms && norms.k, shape, isTurned).forEach((wanted, d) => {
            const got = pages.key(place, i, d) ?? NaN;
            ofK = worse(ofK, Math.abs(got - wanted) / Math.max(1, Math.abs(wanted)));
          });
          head(value(i)).forEach((wanted, d) => {
            ofV = worse(ofV, Math.abs((pages.value(place, i, d) ?? NaN) - wanted));
          });
          for (let d = dims; d < stored; d++)
            expect([pages.key(place, i, d), pages.value(place, i, d)]).toEqual([0, 0]);
        }
      });
      expectBelow(ofQ, TOLERANCE.f32);
      expectBelow(ofK, TOLERANCE[format]);
      expect(ofV).toBeLessThanOrEqual(format === 'f32' ? 0 : TOLERANCE.f16);

      const untouched = Array.from({ length: PAGES * PAGE_TOKENS }, (_, place) => place).filter((place) => {
        const element = [place, kvHeads - 1, dims - 1] as const;
        return pages.key(...element) === undefined && pages.value(...element) === undefined;
      });
      expect(untouched.length).toBe(PAGES * PAGE_TOKENS - places.length);
    });
  });
}

it.each(['cpu', 'discrete'] as const)(
  '%s: keys are the values, too, before their norm and rotation, and values have a norm without weights',
  async (profile) => {
    const on = disguise(device, { profile });
    const shape: HeadShape = { heads: 2, kvHeads: 1, dims: 8, kv: 'one' };
    const random = new Random(7);
    const qkv = random.floats(2 * 24);
    const [keys, values] = [0, 1].map(() => upload(on, new Uint8Array(PAGES * PAGE_TOKENS * 8 * 4)));
    const norm = () => on.tensor('weights', 'norm', [8], random.floats(8));
    const places = [3, 40];
    await compute({
      device: on,
      capacity: { rows: 2 },
      sizes: { rows: 2 },
      record: (_, input) => {
        const pages = {
          kind: 'kv',
          table: tableOf(on, places),
          format: 'f32',
          keys: keys!,
          values: values!,
        } as const;
        const norms = { q: norm(), k: norm(), eps: EPS, values: true };
        return ropeKv(input(['rows', 24], qkv), null, shape, pages, norms);
      },
    });
    const pages = await readPages(on, keys!, values!, 'f32', shape);
    places.forEach((place, row) => {
      const key = qkv.subarray(row * 24 + 16, row * 24 + 24);
      const mean = key.reduce((sum, value) => sum + value * value, 0) / 8;
      key.forEach((value, d) =>
        expectBelow(Math.abs(pages.value(place, 0, d)! - value / Math.sqrt(mean + EPS)), 3e-6),
      );
    });
  },
);

it.each(['cpu', 'discrete'] as const)(
  '%s: a row of queries alone leaves the pages as they are',
  async (profile) => {
    const on = disguise(device, { profile });
    const shape: HeadShape = { heads: 2, kvHeads: 1, dims: 8, scale: 0.5, kv: 'none' };
    const bytes = PAGES * PAGE_TOKENS * 8 * 4;
    const [keys, values] = [0, 1].map(() => upload(on, new Uint8Array(bytes)));
    for (const region of [keys!, values!]) poison(on, region);
    const x = new Random(3).floats(16);
    const y = await compute({
      device: on,
      capacity: { rows: 1 },
      sizes: { rows: 1 },
      record: (_, input) => {
        const pages = {
          kind: 'kv',
          table: tableOf(on, [5]),
          format: 'f32',
          keys: keys!,
          values: values!,
        } as const;
        return ropeKv(input(['rows', 16], x), null, shape, pages, null);
      },
    });
    y[0]!.forEach((value, i) => expectCloseTo(value, 0.5 * x[i]!, 6));
    const pages = await readPages(on, keys!, values!, 'f32', shape);
    expect([pages.key(5, 0, 0), pages.value(5, 0, 0)]).toEqual([undefined, undefined]);
  },
);

it('queries beside their keys and values have no gates', () => {
  const qkv = new Tape(device, { rows: 1 }).tensor(['rows', 64]);
  const shape: HeadShape = { heads: 4, kvHeads: 2, dims: 8, order: 'groups', gated: true };
  const pages = { format: 'f32' } as KvPages;
  expect(() => ropeKv(qkv, null, shape, pages, null)).toThrow('no gates');
});

it.each([
  [{ heads: 3, kvHeads: 2, dims: 16 }, 112],
  [{ heads: 1, kvHeads: 2, dims: 16 }, 80],
  [{ heads: 2, kvHeads: 0, dims: 16 }, 32],
  [{ heads: 2, kvHeads: 1, dims: 7 }, 28],
  [{ heads: 2, kvHeads: 1, dims: 8 }, 36],
])('heads that cannot be shared out are a mistake of the caller: %j in %i columns', (shape, columns) => {
  const tape = new Tape(device, { rows: 1 });
  const none = {} as KvPages;
  const batch = {} as TextBatch;
  const qkv = tape.tensor(['rows', columns]);
  const rope = tape.tensor(['rows', shape.dims]);
  const { heads, kvHeads, dims } = shape;
  const said = `${heads} heads and ${kvHeads} for keys, of ${dims}, in`;
  expect(() => ropeKv(qkv, rope, shape, none, null)).toThrow(said);
  const q = tape.tensor(['rows', heads * dims + (columns === 36 ? 4 : 0)]);
  expect(() => attention(q, batch, shape, none, { window: null })).toThrow(said);
});

it('a window of no tokens is a mistake of the caller', () => {
  const q = new Tape(device, { rows: 1 }).tensor(['rows', 32]);
  const shape = { heads: 2, kvHeads: 1, dims: 16 };
  expect(() => attention(q, {} as TextBatch, shape, {} as KvPages, { window: 0 })).toThrow(
    'a window of 0 tokens',
  );
});
