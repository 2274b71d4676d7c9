// Codes and scales of int8 and int4, bit for bit what the rule at shaders/codes says, for every way that a checkpoint stores values:
// random ones, values halfway between two codes, largest magnitudes of both signs, and the ends of the range.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { FORMATS, type NumberSource } from '../../src/kernels/formats.ts';
import { allocateMatrix, stacked, type MatrixWindow } from '../../src/kernels/matrix.ts';
import { packRows } from '../../src/kernels/pack.ts';
import { runOnce } from '../../src/kernels/run-once.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { f16Value, Random, upload } from './compute.ts';

type Quantised = 'int8' | 'int4';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const BLOCK = 32;
/** A block whose largest magnitude is smaller becomes zeros. */
const SMALLEST = 2 ** -119;

/** Rounds halves to even, exactly. */
function rint(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below;
}

/** Doubles represent quotients of f32 values closely enough to distinguish them from every half. */
const RULES: Record<Quantised, (values: readonly number[]) => { scale: number; codes: number[] }> = {
  int8(values) {
    const largest = Math.max(...values.map(Math.abs));
    if (largest < SMALLEST) return { scale: 0, codes: values.map(() => 0) };
    return {
      scale: Math.fround(largest / 127),
      codes: values.map((value) => rint((127 * value) / largest) & 255),
    };
  },
  int4(values) {
    const largest = Math.max(...values.map(Math.abs));
    if (largest < SMALLEST) return { scale: 0, codes: values.map(() => 8) };
    const extreme = values.find((value) => Math.abs(value) === largest)!;
    const scale = extreme / -8;
    return { scale, codes: values.map((value) => Math.min(15, Math.floor(value / scale + 8.5))) };
  },
};

const words = new DataView(new ArrayBuffer(4));
function floatOf(bits: number): number {
  words.setUint32(0, bits);
  return words.getFloat32(0);
}

/** The value of a bit pattern. */
function decode(source: NumberSource, bits: number): number {
  if (source === 'f16') return f16Value(bits);
  return floatOf(source === 'bf16' ? (bits << 16) >>> 0 : bits);
}

/** Bits of each kind's fields, for patterns made by hand. */
const LAYOUT = {
  f32: { mantissa: 23, one: 127, sign: 0x80000000, exponents: [1, 9, 80, 120, 127, 190] },
  bf16: { mantissa: 7, one: 127, sign: 0x8000, exponents: [1, 9, 80, 120, 127, 190] },
  f16: { mantissa: 10, one: 15, sign: 0x8000, exponents: [6, 9, 12, 15, 30] },
};

function pattern(
  source: NumberSource,
  { negative, exponent, mantissa }: { negative: boolean; exponent: number; mantissa: number },
): number {
  const layout = LAYOUT[source];
  return ((negative ? layout.sign : 0) | (exponent << layout.mantissa) | mantissa) >>> 0;
}

/** Bits of blocks whose largest exponent is `exponent`: magnitudes over a few octaves below it. */
function randomBlock(source: NumberSource, exponent: number, random: Random): number[] {
  const { mantissa } = LAYOUT[source];
  return Array.from({ length: BLOCK }, () =>
    pattern(source, {
      negative: random.next() < 0.5,
      exponent: Math.max(0, exponent - random.integer(6)),
      mantissa: random.integer(2 ** mantissa),
    }),
  );
}

/** `count` times 2 to the power of `exponent`, less the bias, as bits; the format holds it exactly. */
function multiple(source: NumberSource, count: number, exponent: number): number {
  if (count === 0) return 0;
  const magnitude = Math.abs(count);
  const top = Math.floor(Math.log2(magnitude));
  const mantissa = (magnitude / 2 ** top - 1) * 2 ** LAYOUT[source].mantissa;
  return pattern(source, { negative: count < 0, exponent: exponent + top, mantissa });
}

/**
 * Every half between two codes of int4, of extremes whose reciprocal is exact or not and that stand first with either sign, or with
 * both. At half the extreme lies one of int8.
 */
function halfwayBlocks(source: NumberSource): number[][] {
  const exponent = LAYOUT[source].one - 9;
  const cases = [1, 9, 11, 13, 15].flatMap((unit) =>
    [16 * unit, -16 * unit].flatMap((extreme) =>
      [true, false].map((hasRival) => ({ unit, extreme, hasRival })),
    ),
  );
  return cases.map(({ unit, extreme, hasRival }) =>
    Array.from({ length: BLOCK }, (_, i) => {
      if (i === 5) return multiple(source, extreme, exponent);
      if (i === 20 && hasRival) return multiple(source, -extreme, exponent);
      return multiple(source, i === 0 ? 0 : unit * (i - 16), exponent);
    }),
  );
}

/** Multiples of a 254th of 127 · 2ᵉ: odd ones lie halfway between two codes of int8. */
function halfwayOfInt8(source: NumberSource): number[][] {
  const exponent = LAYOUT[source].one - 8;
  return [1, 64, 96].map((first) =>
    Array.from({ length: BLOCK }, (_, i) => multiple(source, i === 0 ? 254 : first + i, exponent)),
  );
}

function blocksFor(source: NumberSource): number[][] {
  const random = new Random(17);
  const some = LAYOUT[source].exponents.flatMap((exponent) =>
    Array.from({ length: 60 }, () => randomBlock(source, exponent, random)),
  );
  return [new Array<number>(BLOCK).fill(0), ...halfwayBlocks(source), ...halfwayOfInt8(source), ...some];
}

/** The codes and scales of one row for each block, read by the layout that shaders/weights documents. */
async function packed(
  source: NumberSource,
  format: Quantised,
  blocks: readonly number[][],
): Promise<{ scale: number; codes: number[] }[]> {
  const rows = blocks.length;
  const parts = stacked([{ name: 'w', rows }]);
  const matrix = allocateMatrix(device, FORMATS[format], BLOCK, parts);
  const bits = blocks.flat();
  const raw = upload(device, source === 'f32' ? Uint32Array.from(bits) : toBytes(Uint16Array.from(bits)));
  runOnce(device, (tape) => packRows(tape, matrix, parts[0]!, { raw, source, firstRow: 0, rows }));
  const [window] = matrix.windows as [MatrixWindow];
  const codes = new Uint32Array(await device.read(window.codes));
  const scales = new Float32Array(await device.read(window.scales!));
  const [perWord, width] = format === 'int8' ? [4, 8] : [8, 4];
  expect(device.takeError()).toBeNull();
  return blocks.map((_, row) => {
    const group = Math.floor(row / 32);
    const word = (k: number): number =>
      codes[(group * (BLOCK / perWord) + Math.floor(k / perWord)) * 32 + (row % 32)]!;
    return {
      scale: scales[group * 32 + (row % 32)]!,
      codes: Array.from(
        { length: BLOCK },
        (__, k) => (word(k) >>> ((k % perWord) * width)) & (2 ** width - 1),
      ),
    };
  });
}

function toBytes(values: Uint16Array): Uint8Array {
  return new Uint8Array(values.buffer);
}

describe.each(['f32', 'bf16', 'f16'] as const)('stored as %s', (source) => {
  it.each(['int8', 'int4'] as const)('%s', async (format) => {
    const blocks = blocksFor(source);
    const found = await packed(source, format, blocks);
    const wrong = blocks.flatMap((bits, i) => {
      const values = bits.map((one) => decode(source, one));
      const { scale, codes } = RULES[format](values);
      const got = found[i]!;
      // Zero is zero, whatever its sign.
      const differs = codes.flatMap((code, k) => (code === got.codes[k] ? [] : [k]));
      if (got.scale === scale && differs.length === 0) return [];
      const [k = 0] = differs;
      return [`block ${i}: scale ${got.scale} for ${scale}; ${values[k]} is ${got.codes[k]} for ${codes[k]}`];
    });
    expect(wrong).toEqual([]);
  });

  it('has values halfway between codes among those', () => {
    const halves = blocksFor(source).map((bits) => {
      const values = bits.map((one) => decode(source, one));
      const largest = Math.max(...values.map(Math.abs));
      const isHalf = (levels: number) => (value: number) => ((2 * levels * value) / largest) % 2 === 1;
      return [values.filter(isHalf(8)).length, values.filter(isHalf(127)).length];
    });
    for (const format of [0, 1])
      expect(halves.reduce((sum, counts) => sum + counts[format]!, 0)).toBeGreaterThan(20);
  });
});
