// Heads in pages of codes against f64: codes are as near to keys and values as their format allows, places of other rows are not written, and
// attention over them is that over decoded keys and values.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { PAGE_TOKENS, type HeadShape } from '../../src/kernels/batch.ts';
import { headBytes } from '../../src/kernels/kv-format.ts';
import { paddedHead } from '../../src/kernels/resize-heads.ts';
import { ropeKv } from '../../src/kernels/rope-kv.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { CODED, CodedHead, turned, type CodedFormat } from './coded-pages.ts';
import { compute, differingRows, POISON, poison, Random, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const PAGES = 3;
/** Two of them share a word of factors, and one is beside a place that is not written. */
const PLACES = [64, 31, 32, 30, 95];
const EPS = 1e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

interface Problem {
  shape: HeadShape;
  qkv: Float32Array;
  angles: number[][];
  norms: { q: Float32Array; k: Float32Array } | null;
}

/** A head far beyond others, one of zeros, and a channel far beyond the others of its head. */
function problemOf(shape: HeadShape, hasNorms: boolean): Problem {
  const { heads, kvHeads, dims } = shape;
  const random = new Random(heads * 100 + dims);
  const width = (heads + 2 * kvHeads) * dims;
  const qkv = random.floats(PLACES.length * width);
  for (let row = 0; row < PLACES.length; row++) qkv[row * width + heads * dims + (dims >> 1)]! *= 30;
  const value = (heads + kvHeads) * dims;
  qkv.fill(0, width + value, width + value + dims);
  qkv.subarray(2 * width + value, 2 * width + value + dims).forEach((_, d, own) => void (own[d]! *= 1e6));
  const angles = PLACES.map(() => Array.from({ length: dims / 2 }, () => random.float() * 3));
  const norms = hasNorms ? { q: random.floats(dims), k: random.floats(dims) } : null;
  return { shape, qkv, angles, norms };
}

/** A head normed, rotated, padded with zeros, and turned as the format turns it. */
function expectedHead(
  format: CodedFormat,
  x: Float32Array,
  turns: number[] | null,
  norm: Float32Array | null,
): number[] {
  const dims = x.length;
  const mean = x.reduce((sum, value) => sum + value * value, 0) / dims;
  const normed = Array.from(x, (value, d) => (norm ? (value / Math.sqrt(mean + EPS)) * norm[d]! : value));
  const rotated = normed.map((value, d) => {
    if (turns === null) return value;
    const angle = turns[d % (dims / 2)]!;
    const partner = normed[(d + dims / 2) % dims]! * Math.sin(angle);
    return value * Math.cos(angle) + (d < dims / 2 ? -partner : partner);
  });
  const padded = [...rotated, ...new Array<number>(paddedHead(dims) - dims).fill(0)];
  return turns === null ? padded : turned(format, padded);
}

/** How far a value may be from its code: of integers half a step, and the rounding of the factor; of e4m3 half a bit of its mantissa. */
function allowed(format: CodedFormat, value: number, largest: number): number {
  const steps = { int8: 127, int4: 8, fp8_e4m3: Infinity }[format];
  // The positive end of four bits is one step short.
  const step = (largest / steps) * 1.01;
  const ofInteger = format === 'int4' ? step : step / 2;
  return format === 'fp8_e4m3' ? Math.abs(value) / 16 + largest / 448 / 128 : ofInteger + 1e-5 * largest;
}

const SHAPES: HeadShape[] = [
  { heads: 3, kvHeads: 1, dims: 4 },
  { heads: 2, kvHeads: 2, dims: 54 },
  { heads: 4, kvHeads: 2, dims: 80 },
  { heads: 2, kvHeads: 1, dims: 256 },
];

const CASES = CODED.flatMap((format) =>
  (['cpu', 'discrete'] as const).map((profile) => ({ format, profile, hasNorms: profile === 'cpu' })),
);

describe.each(CASES)('$format, profile $profile', ({ format, profile, hasNorms }) => {
  it.each(SHAPES)('$heads + 2 · $kvHeads heads of $dims', async (shape) => {
    const on = disguise(device, { profile });
    const { heads, kvHeads, dims } = shape;
    const { qkv, angles, norms } = problemOf(shape, hasNorms);
    const stored = paddedHead(dims);
    const { q, keys, values } = await writtenBy(on, format, { shape, qkv, angles, norms });
    const width = (heads + 2 * kvHeads) * dims;
    let worst = 0;
    PLACES.forEach((place, row) => {
      const own = (i: number) => qkv.subarray(row * width + i * dims, row * width + (i + 1) * dims);
      const headOf = (words: Uint32Array, kind: 'keys' | 'values', i: number) =>
        new CodedHead(words, format, kind, {
          dims: stored,
          head: Math.floor(place / PAGE_TOKENS) * kvHeads + i,
        });
      for (let i = 0; i < heads; i++) {
        const wanted = expectedHead(format, own(i), angles[row]!, norms && norms.q);
        const largest = Math.max(1, ...wanted.map(Math.abs));
        wanted.forEach((value, d) => {
          const apart = Math.abs(q[row]![i * stored + d]! - value / Math.sqrt(dims));
          expectBelow(apart, 1e-5 * largest);
        });
      }
      const judge = (head: CodedHead, wanted: number[]) => {
        const largest = Math.max(...wanted.map(Math.abs));
        wanted.forEach((value, d) => {
          const apart = Math.abs(head.number(place % PAGE_TOKENS, d) - value);
          if (largest === 0) expect(apart).toBe(0);
          else worst = Math.max(worst, apart / allowed(format, value, largest));
        });
      };
      for (let i = 0; i < kvHeads; i++) {
        const key = expectedHead(format, own(heads + i), angles[row]!, norms && norms.k);
        judge(headOf(keys, 'keys', i), key);
        judge(headOf(values, 'values', i), expectedHead(format, own(heads + kvHeads + i), null, null));
      }
    });
    expect(worst).toBeLessThan(1);
    expect(worst).toBeGreaterThan(0.3);

    // Bytes of the tokens that were written: codes of each row, and factors.
    const perToken = headBytes(format, stored) / PAGE_TOKENS;
    for (const words of [keys, values]) {
      const written = new Uint16Array(words.buffer).filter((half) => half !== POISON >>> 16).length;
      expect(2 * written).toBeLessThanOrEqual(PLACES.length * kvHeads * perToken);
    }
  });
});

it.each(CODED)('%s: a row has the codes that it has alone', async (format) => {
  const shape = { heads: 4, kvHeads: 2, dims: 80 };
  const whole = problemOf(shape, true);
  const width = (shape.heads + 2 * shape.kvHeads) * shape.dims;
  const all = await writtenBy(device, format, whole);
  const alone = await writtenBy(device, format, {
    ...whole,
    qkv: whole.qkv.subarray(width, 2 * width),
    angles: [whole.angles[1]!],
  });
  expect(differingRows(alone.q, [all.q[1]!])).toEqual([]);
  const codesOf = ({ keys, values }: typeof all) =>
    (['keys', 'values'] as const).flatMap((kind) =>
      [0, 1].flatMap((head) => {
        const held = new CodedHead(kind === 'keys' ? keys : values, format, kind, { dims: 80, head });
        const token = PLACES[1]! % PAGE_TOKENS;
        return [held.factor(token), ...Array.from({ length: 80 }, (_, d) => held.code(token, d))];
      }),
    );
  expect(codesOf(alone)).toEqual(codesOf(all));
});

async function writtenBy(on: Device, format: CodedFormat, { shape, qkv, angles, norms }: Problem) {
  const { heads, kvHeads, dims } = shape;
  const places = PLACES.slice(PLACES.length > angles.length ? 1 : 0).slice(0, angles.length);
  const width = (heads + 2 * kvHeads) * dims;
  const bytes = PAGES * kvHeads * headBytes(format, paddedHead(dims));
  const [keys, values] = [0, 1].map(() => {
    const region = { ...upload(on, new Uint8Array(bytes)), size: bytes };
    poison(on, region);
    return region;
  });
  const region = upload(on, Uint32Array.from(places));
  const turns = Float32Array.from(angles.flat().flatMap((angle) => [Math.cos(angle), Math.sin(angle)]));
  const weight = (of: Float32Array) => on.tensor('weights', 'norm', [dims], of);
  const q = await compute({
    device: on,
    capacity: { rows: 8 },
    sizes: { rows: places.length },
    record: (_, input) =>
      ropeKv(
        input(['rows', width], qkv),
        input(['rows', dims], turns),
        shape,
        {
          kind: 'kv',
          table: { pages: region, places: region },
          format,
          keys: keys!,
          values: values!,
        },
        norms && { q: weight(norms.q), k: weight(norms.k), eps: EPS },
      ),
  });
  const [k, v] = await Promise.all(
    [keys!, values!].map(async (held) => new Uint32Array(await on.read(held))),
  );
  return { q, keys: k!, values: v! };
}
