// What packing lays down, read back code by code: every source in every format, parts side by side and interleaved, windows.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { FORMATS, type FormatName, type NumberSource } from '../../src/kernels/formats.ts';
import {
  allocateMatrix,
  interleaved,
  stacked,
  type Matrix,
  type MatrixPart,
} from '../../src/kernels/matrix.ts';
import { packRows, type PackedChunk } from '../../src/kernels/pack.ts';
import { runOnce } from '../../src/kernels/run-once.ts';
import { widen } from '../../src/kernels/widen.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { f16Bits, f16Value, poison, Random, toF16, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const NAMES = ['f32', 'f16', 'bf16', 'int8', 'int4'] as const satisfies FormatName[];
const SOURCES: NumberSource[] = ['f32', 'f16', 'bf16'];

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

function pack(matrix: Matrix, part: MatrixPart, chunk: PackedChunk, on = device): void {
  runOnce(on, (tape) => packRows(tape, matrix, part, chunk));
}

const words = new DataView(new ArrayBuffer(4));
function floatOf(bits: number): number {
  words.setUint32(0, bits);
  return words.getFloat32(0);
}
function bitsOf(value: number): number {
  words.setFloat32(0, value);
  return words.getUint32(0);
}

/** Returns random values in a checkpoint's format: the bytes, and the numbers. */
function stored(source: NumberSource, count: number, random: Random) {
  if (source === 'f32') {
    const floats = random.floats(count);
    return { bytes: new Uint8Array(floats.buffer), values: Array.from(floats) };
  }
  const values = Array.from(random.floats(count), (value) =>
    source === 'f16' ? toF16(value) : floatOf((bitsOf(value) & 0xffff0000) >>> 0),
  );
  const halves = Uint16Array.from(values, (value) =>
    source === 'f16' ? f16Bits(value) : bitsOf(value) >>> 16,
  );
  return { bytes: new Uint8Array(halves.buffer), values };
}

interface Code {
  value: number;
  scale: number;
  code: number;
}

/** Reads [column][k] by the layout that shaders/weights documents. */
async function unpack(matrix: Matrix): Promise<(column: number, k: number) => Code> {
  const perWord = 32 / matrix.windows[0].format.bits;
  const windows = await Promise.all(
    matrix.windows.map(async ({ codes, scales, firstGroup, groups }) => ({
      codes: new Uint32Array(await device.read(codes)),
      scales: scales ? new Float32Array(await device.read(scales)) : null,
      firstGroup,
      groups,
    })),
  );
  return (column, k) => {
    const group = Math.floor(column / 32);
    const window = windows.find((held) => group >= held.firstGroup && group < held.firstGroup + held.groups)!;
    const row = (group - window.firstGroup) * matrix.blocks * (32 / perWord) + Math.floor(k / perWord);
    const code =
      (window.codes[row * 32 + (column % 32)]! >>> ((k % perWord) * matrix.windows[0].format.bits)) &
      (2 ** matrix.windows[0].format.bits - 1);
    const block = (group - window.firstGroup) * matrix.blocks + Math.floor(k / 32);
    const scale = window.scales?.[block * 32 + (column % 32)] ?? 1;
    return { code, scale, value: decode(matrix.windows[0].format.name, code, scale) };
  };
}

function decode(format: string, code: number, scale: number): number {
  if (format === 'f32') return floatOf(code >>> 0);
  if (format === 'f16') return f16Value(code);
  if (format === 'bf16') return floatOf((code << 16) >>> 0);
  return format === 'int8' ? scale * ((code << 24) >> 24) : scale * (code - 8);
}

/** Returns the larger error; NaN counts as infinitely large. */
function worse(a: number, b: number): number {
  return b <= a ? a : Number.isNaN(b) ? Infinity : b;
}

/** How far a decoded value may lie from the one that was packed. */
function tolerance(format: FormatName, source: NumberSource, wanted: number, { code, scale }: Code): number {
  if (format === 'f32' || format === source) return 0;
  if (format === 'f16') return Math.abs(wanted) * 2 ** -10; // WGSL lets it round either way
  if (format === 'bf16') return Math.abs(wanted) * 2 ** -8;
  // 7 is the largest value of four bits, so it also represents what would round to 8.
  const steps = format === 'int4' && code === 15 ? 1 : 0.5;
  return Math.abs(scale) * steps * 1.0001;
}

for (const source of SOURCES) {
  it.each(NAMES)(`${source} packed as %s`, async (format) => {
    const random = new Random(7);
    const [rows, k] = [131, 67];
    const { bytes, values } = stored(source, rows * k, random);
    const parts = stacked([{ name: 'w', rows }]);
    const matrix = allocateMatrix(device, FORMATS[format], k, parts);
    // Sizes are multiples of pairs of groups of 32 columns and of blocks of 32 k's.
    const sizes = matrix.windows.map(({ codes, scales }) => [codes.size, scales?.size ?? 0]);
    expect(sizes).toEqual([
      [(192 * 96 * FORMATS[format].bits) / 8, FORMATS[format].bits < 16 ? 192 * 3 * 4 : 0],
    ]);
    pack(matrix, parts[0]!, { raw: upload(device, bytes), source, firstRow: 0, rows });
    const at = await unpack(matrix);
    let [excess, scaleError] = [0, 0];
    for (let row = 0; row < rows; row++) {
      const extremes = [0, 0, 0];
      for (let i = 0; i < k; i++) {
        const wanted = values[row * k + i]!;
        const got = at(row, i);
        excess = worse(excess, Math.abs(got.value - wanted) - tolerance(format, source, wanted, got));
        const block = Math.floor(i / 32);
        extremes[block] = Math.max(extremes[block]!, Math.abs(wanted));
      }
      // The extreme of a block is exact except for the scale's rounding: a smaller scale would clip it, a larger one would waste
      // codes.
      if (FORMATS[format].scale === null) continue;
      extremes.forEach((extreme, block) => {
        const scale = Math.abs(at(row, block * 32).scale);
        scaleError = worse(scaleError, Math.abs((scale * (format === 'int8' ? 127 : 8)) / extreme - 1));
      });
    }
    expect(excess).toBe(0);
    expect(scaleError).toBeLessThan(1e-6);
    expect(device.takeError()).toBeNull();
  });
}

it('bf16 rounds to nearest, ties to even', async () => {
  const bits = [0x3f808000, 0x3f818000, 0x3f807fff, 0x3f808001, 0xbf818000, 0x3fffffff];
  const parts = stacked([{ name: 'w', rows: 1 }]);
  const matrix = allocateMatrix(device, FORMATS.bf16, bits.length, parts);
  const raw = upload(device, Uint32Array.from(bits));
  pack(matrix, parts[0]!, { raw, source: 'f32', firstRow: 0, rows: 1 });
  const at = await unpack(matrix);
  expect(bits.map((_, k) => at(0, k).code)).toEqual([0x3f80, 0x3f82, 0x3f80, 0x3f81, 0xbf82, 0x4000]);
});

it.each(NAMES)('columns and k’s that pad %s are zero, whatever the buffer held', async (format) => {
  const random = new Random(8);
  const [rows, k] = [5, 33];
  const old = allocateMatrix(device, FORMATS[format], k, stacked([{ name: 'old', rows: 128 }]));
  old.windows.forEach(({ codes }) => poison(device, codes));
  old.windows.forEach(({ codes }) => device.free(codes.buffer));
  const parts = stacked([{ name: 'w', rows }]);
  const matrix = allocateMatrix(device, FORMATS[format], k, parts);
  const { bytes } = stored('f32', rows * k, random);
  pack(matrix, parts[0]!, { raw: upload(device, bytes), source: 'f32', firstRow: 0, rows });
  const at = await unpack(matrix);
  let largest = 0;
  for (let column = 0; column < 32; column++) {
    for (let i = column < rows ? k : 0; i < 64; i++) largest = worse(largest, Math.abs(at(column, i).value));
  }
  expect(largest).toBe(0);
});

it.each(['int8', 'int4'] as const)('a block of zeros in %s is zeros', async (format) => {
  const parts = stacked([{ name: 'w', rows: 1 }]);
  const matrix = allocateMatrix(device, FORMATS[format], 64, parts);
  const values = new Float32Array(64).fill(1, 32);
  pack(matrix, parts[0]!, { raw: upload(device, values), source: 'f32', firstRow: 0, rows: 1 });
  const at = await unpack(matrix);
  values.forEach((value, i) => expectBelow(Math.abs(at(0, i).value - value), 0.13));
  for (let i = 0; i < 32; i++) expect(Math.abs(at(0, i).value)).toBe(0);
});

describe('parts of a packed matrix', () => {
  it('stand one after the other, and come in chunks', async () => {
    const random = new Random(9);
    const k = 20;
    const parts = stacked([
      { name: 'q', rows: 100 },
      { name: 'k', rows: 37 },
      { name: 'v', rows: 1 },
    ]);
    const matrix = allocateMatrix(device, FORMATS.f32, k, parts);
    expect(matrix.columns).toBe(138);
    const all: number[] = [];
    for (const part of parts) {
      const { bytes, values } = stored('bf16', part.rows * k, random);
      for (let row = 0; row < part.rows; row += 30) {
        const rows = Math.min(30, part.rows - row);
        const raw = upload(device, bytes.subarray(row * k * 2, (row + rows) * k * 2));
        pack(matrix, part, { raw, source: 'bf16', firstRow: row, rows });
      }
      all.push(...values);
    }
    const at = await unpack(matrix);
    const got = Array.from({ length: 138 * k }, (_, i) => at(Math.floor(i / k), i % k).value);
    expect(got).toEqual(all);
  });

  it.each([1, 2, 37, 64, 65])('interleave by two: %i rows each', async (rows) => {
    const random = new Random(rows);
    const k = 5;
    const parts = interleaved('gate', 'up', rows);
    const matrix = allocateMatrix(device, FORMATS.f32, k, parts);
    const sides = parts.map((part) => {
      const { bytes, values } = stored('f32', rows * k, random);
      pack(matrix, part, { raw: upload(device, bytes), source: 'f32', firstRow: 0, rows });
      return values;
    });
    const at = await unpack(matrix);
    for (let row = 0; row < rows; row++) {
      sides.forEach((values, side) => {
        const column = 4 * Math.floor(row / 2) + 2 * side + (row % 2);
        for (let i = 0; i < k; i++) expect(at(column, i).value).toBe(values[row * k + i]);
      });
    }
  });
});

describe('windows of 256 KiB', () => {
  it.each(NAMES)('%s', async (format) => {
    const narrow = disguise(device, { bindingLimit: 256 << 10 });
    const random = new Random(11);
    const [rows, k] = [700, { f32: 330, f16: 330, bf16: 330, int8: 550, int4: 1100 }[format]];
    const { bytes, values } = stored('f16', rows * k, random);
    const parts = stacked([{ name: 'w', rows }]);
    const matrix = allocateMatrix(narrow, FORMATS[format], k, parts);
    expect(matrix.windows.length).toBeGreaterThan(1);
    expect(matrix.windows.reduce((sum, { groups }) => sum + groups, 0)).toBe(22);
    for (let row = 0; row < rows; row += 100) {
      const raw = upload(narrow, bytes.subarray(row * k * 2, (row + 100) * k * 2));
      pack(matrix, parts[0]!, { raw, source: 'f16', firstRow: row, rows: 100 }, narrow);
    }
    expect(device.takeError()).toBeNull();
    const at = await unpack(matrix);
    let excess = 0;
    for (let row = 0; row < rows; row++) {
      for (let i = 0; i < k; i += 7) {
        const wanted = values[row * k + i]!;
        const got = at(row, i);
        excess = worse(excess, Math.abs(got.value - wanted) - tolerance(format, 'f16', wanted, got));
      }
    }
    expect(excess).toBe(0);
  });

  it.each(['f32', 'int4'] as const)('%s that finds no room for all of them keeps none', (format) => {
    const narrow = disguise(device, { bindingLimit: 256 << 10, memoryBudget: 400 << 10 });
    expect(() => allocateMatrix(narrow, FORMATS[format], 1024, stacked([{ name: 'w', rows: 1024 }]))).toThrow(
      /w needs .* memory budget/,
    );
    expect(narrow.memoryUsed).toBe(0);
  });

  it('32 rows that exceed a binding are refused', () => {
    const narrow = disguise(device, { bindingLimit: 64 << 10 });
    expect(() => allocateMatrix(narrow, FORMATS.f32, 1000, stacked([{ name: 'wide', rows: 3 }]))).toThrow(
      /wide: 32 rows of 1000 exceed one binding/,
    );
  });
});

describe('widen', () => {
  for (const source of SOURCES) {
    it.each([1, 63, 64, 65, 131])(`${source}: %i values`, async (size) => {
      const { bytes, values } = stored(source, size, new Random(size));
      const y = device.tensor('weights', 'y', [size + 3], new Float32Array(size + 3));
      const raw = upload(device, bytes);
      const placement = { firstColumn: 3, unit: size, unitStride: size };
      runOnce(device, (tape) => widen(tape, y, placement, { raw, source, size }));
      const got = new Float32Array(await device.read(y.region!)).slice(0, size + 4);
      expect(Array.from(got)).toEqual([0, 0, 0, ...values, 0]);
    });
  }

  it('places values like the rows of two interleaved matrices', async () => {
    const [gate, up] = interleaved('gate', 'up', 5);
    const y = device.tensor('weights', 'y', [10], new Float32Array(10));
    [gate!, up!].forEach(({ placement }, side) => {
      const raw = upload(
        device,
        new Float32Array([1, 2, 3, 4, 5]).map((value) => value + 10 * side),
      );
      runOnce(device, (tape) => widen(tape, y, placement, { raw, source: 'f32', size: 5 }));
    });
    const got = new Float32Array(await device.read(y.region!)).slice(0, 12);
    expect(Array.from(got)).toEqual([1, 2, 11, 12, 3, 4, 13, 14, 5, 0, 15, 0]);
  });
});
