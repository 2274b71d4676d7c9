// Scales, zero points and offsets of groups of k's, by what a matrix of known codes is with them.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { FORMATS, type FormatName, type NumberSource } from '../../src/kernels/formats.ts';
import { allocateMatrix, interleavedHalves, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { placeCodes } from '../../src/kernels/place-codes.ts';
import {
  placeHalves,
  placeScales,
  placeWords,
  placeZeros,
  type GroupChunk,
} from '../../src/kernels/place-scales.ts';
import { runOnce } from '../../src/kernels/run-once.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { f16Bits, Random, toF16, upload } from './compute.ts';
import { columnsOf } from './stored.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const CODE = 6;

/** A matrix all of whose codes are CODE. */
function matrixOf(format: FormatName, rows: number, k: number): Matrix {
  const matrix = allocateMatrix(device, FORMATS[format], k, stacked([{ name: 'w', rows }]));
  fillCodes(matrix, rows, k);
  return matrix;
}

function fillCodes(matrix: Matrix, rows: number, k: number): void {
  const { bits } = matrix.formats[0]!;
  const raw = upload(
    device,
    new Uint32Array((rows * k * bits) / 32).fill(bits === 4 ? 0x66666666 : 0x06060606),
  );
  const chunk = { raw, layout: 'rows', signed: false, rows, firstRow: 0, count: rows, places: null } as const;
  for (const part of matrix.parts) runOnce(device, (tape) => placeCodes(tape, matrix, part, chunk));
}

/** Numbers of 16 or 32 bits as a file holds them. */
function stored(values: ArrayLike<number>, source: NumberSource): Float32Array | Uint8Array {
  const floats = Float32Array.from(values);
  if (source === 'f32') return floats;
  const words = new Uint32Array(floats.buffer);
  const bits = Uint16Array.from(floats, (value, i) => (source === 'f16' ? f16Bits(value) : words[i]! >>> 16));
  return new Uint8Array(bits.buffer);
}

interface Layout {
  rows: number;
  k: number;
  groupKs: number;
  /** [rows, groups], or [groups, rows]. */
  byRow: boolean;
}

const distances = ({ rows, k, groupKs, byRow }: Layout) => {
  const groups = Math.ceil(k / groupKs);
  const strides = byRow ? { rowStride: groups, groupStride: 1 } : { rowStride: 1, groupStride: rows };
  return {
    groups,
    at: (row: number, group: number) => row * strides.rowStride + group * strides.groupStride,
    strides,
  };
};

/** The chunks of a tensor that hold `count` rows of it each: rows, or groups of k's. */
function chunksOf(layout: Layout, count: number): Omit<GroupChunk, 'raw'>[] {
  const { rows, groupKs, byRow } = layout;
  const { groups, strides } = distances(layout);
  const outer = byRow ? rows : groups;
  return Array.from({ length: Math.ceil(outer / count) }, (_, i) => {
    const [first, size] = [i * count, Math.min(count, outer - i * count)];
    const own = byRow
      ? { rows: size, firstRow: first, groups, firstGroup: 0 }
      : { rows, firstRow: 0, groups: size, firstGroup: first };
    return { ...own, groupKs, ...strides };
  });
}

/** A scale for each group of a row, which its type holds exactly. */
function randomScales({ rows, k, groupKs }: Layout, random: Random): Float32Array {
  return random.floats(rows * Math.ceil(k / groupKs)).map((value) => toF16(value) * 2 ** -4);
}

type Value = (row: number, k: number) => number;

async function expectValues(matrix: Matrix, wanted: Value): Promise<void> {
  const columns = await columnsOf(device, matrix);
  const wrong = columns.flatMap((column, row) => [...column].filter((value, i) => value !== wanted(row, i)));
  expect(columns.length).toBe(matrix.columns);
  expect(wrong).toEqual([]);
}

const LAYOUTS: [FormatName, Layout, number][] = [
  ['u4_32', { rows: 40, k: 96, groupKs: 32, byRow: true }, 6],
  ['u4_32', { rows: 40, k: 160, groupKs: 96, byRow: false }, 1],
  ['u4_64', { rows: 33, k: 256, groupKs: 128, byRow: true }, 33],
  ['u8_128', { rows: 64, k: 256, groupKs: 256, byRow: false }, 1],
  ['u8_128', { rows: 7, k: 128, groupKs: 128, byRow: true }, 4],
];

describe('scales', () => {
  it.each(LAYOUTS)('%s of %j, %i rows at a time', async (format, layout, count) => {
    const random = new Random(layout.k);
    const scales = randomScales(layout, random);
    const { at } = distances(layout);
    const matrix = matrixOf(format, layout.rows, layout.k);
    for (const chunk of chunksOf(layout, count)) {
      const first = at(chunk.firstRow, chunk.firstGroup);
      const raw = upload(device, scales.subarray(first));
      runOnce(device, (tape) =>
        placeScales(tape, matrix, matrix.parts[0]!, { ...chunk, raw, source: 'f32', zero: 2 }),
      );
    }
    await expectValues(matrix, (row, i) => scales[at(row, Math.floor(i / layout.groupKs))]! * (CODE - 2));
  });

  it.each(['f32', 'f16', 'bf16'] as const)('of the type %s are held exactly', async (source) => {
    const layout = { rows: 37, k: 128, groupKs: 64, byRow: true };
    // Eight bits of mantissa.
    const scales = randomScales(layout, new Random(3)).map((value) =>
      Math.fround(Math.round(value * 2 ** 9) / 2 ** 9 || 1),
    );
    const { at } = distances(layout);
    const matrix = matrixOf('u4_64', 37, 128);
    const [chunk] = chunksOf(layout, 37);
    const raw = upload(device, stored(scales, source));
    runOnce(device, (tape) =>
      placeScales(tape, matrix, matrix.parts[0]!, { ...chunk!, raw, source, zero: 8 }),
    );
    await expectValues(matrix, (row, i) => scales[at(row, Math.floor(i / 64))]! * (CODE - 8));
  });

  it('one of a whole matrix is that of all its rows', async () => {
    const matrix = matrixOf('u8_32', 40, 96);
    const raw = upload(device, Float32Array.of(0.375));
    const one = {
      rows: 40,
      firstRow: 0,
      groups: 1,
      firstGroup: 0,
      groupKs: 96,
      rowStride: 0,
      groupStride: 0,
    };
    runOnce(device, (tape) =>
      placeScales(tape, matrix, matrix.parts[0]!, { ...one, raw, source: 'f32', zero: 0 }),
    );
    await expectValues(matrix, () => 0.375 * CODE);
  });

  it('of two halves in turns are those of their rows', async () => {
    const layout = { rows: 40, k: 64, groupKs: 32, byRow: true };
    const scales = randomScales(layout, new Random(4));
    const matrix = allocateMatrix(device, FORMATS.u4_32, 64, interleavedHalves('w', 20));
    fillCodes(matrix, 40, 64);
    const raw = upload(device, scales);
    const [chunk] = chunksOf(layout, 40);
    for (const part of matrix.parts)
      runOnce(device, (tape) => placeScales(tape, matrix, part, { ...chunk!, raw, source: 'f32', zero: 0 }));
    const rowOf = (column: number): number =>
      2 * Math.floor(column / 4) + (column % 2) + (column % 4 < 2 ? 0 : 20);
    await expectValues(matrix, (column, i) => scales[rowOf(column) * 2 + Math.floor(i / 32)]! * CODE);
  });
});

describe('zero points', () => {
  const layout = { rows: 40, k: 96, groupKs: 32, byRow: true };
  const groups = 3;

  it.each([
    ['packed along rows, by row', 4, 'packed', true, 0],
    ['packed along rows, by group', 4, 'packed', false, 0],
    ['less 1', 4, 'packed', false, 0x11111111],
    ['of 8 bits less 1', 8, 'packed', false, 0x01010101],
    ['in the order of AWQ', 4, 'interleaved', false, 0],
    ['in signed bytes', 4, 'bytes', true, 0],
    ['of 8 bits in signed bytes', 8, 'bytes', true, 0],
  ] as const)('%s', async (_, bits, form, byRow, plus) => {
    const random = new Random(bits);
    const range = 2 ** bits;
    const zeros = Uint8Array.from({ length: 40 * groups }, () => random.integer(range));
    const zeroAt = (row: number, group: number): number => zeros[row * groups + group]!;
    const per = form === 'bytes' ? 1 : 32 / bits;
    const across = 40 / per;
    const order = form === 'interleaved' ? [0, 2, 4, 6, 1, 3, 5, 7] : [0, 1, 2, 3, 4, 5, 6, 7];
    // What is stored wraps round where 1 is taken from 0.
    const wordAt = (rowWord: number, group: number): number => {
      let word = 0;
      for (let slot = 0; slot < per; slot++)
        word |= zeroAt(rowWord * per + order[slot]!, group) << (slot * bits);
      return (word - plus) >>> 0;
    };
    const at = (i: number): [number, number] =>
      byRow ? [Math.floor(i / groups), i % groups] : [i % across, Math.floor(i / across)];
    const values =
      form === 'bytes'
        ? Uint8Array.from({ length: across * groups }, (__, i) => zeroAt(...at(i)) - range / 2)
        : Uint32Array.from({ length: across * groups }, (__, i) => wordAt(...at(i)));
    const matrix = matrixOf(bits === 4 ? 'u4_32' : 'u8_32', 40, 96);
    const ones = upload(device, new Float32Array(40 * groups).fill(1));
    const [chunk] = chunksOf(layout, 40);
    runOnce(device, (tape) =>
      placeScales(tape, matrix, matrix.parts[0]!, { ...chunk!, raw: ones, source: 'f32', zero: null }),
    );
    const strides = byRow ? { rowStride: groups, groupStride: 1 } : { rowStride: 1, groupStride: across };
    const own = { rows: 40, firstRow: 0, groups, firstGroup: 0, groupKs: 32, ...strides };
    runOnce(device, (tape) =>
      placeZeros(tape, matrix, matrix.parts[0]!, { ...own, raw: upload(device, values), form, plus }),
    );
    await expectValues(matrix, (row, i) => CODE - zeroAt(row, Math.floor(i / 32)));
  });
});

it.each(['affine4_32_f16', 'affine8_32_f16'] as const)('offsets stand beside scales: %s', async (format) => {
  const layout = { rows: 36, k: 96, groupKs: 96, byRow: true };
  const random = new Random(9);
  const [scales, offsets] = [randomScales(layout, random), randomScales(layout, random)];
  const matrix = matrixOf(format, 36, 96);
  for (const [values, upper] of [
    [scales, false],
    [offsets, true],
  ] as const) {
    for (const chunk of chunksOf(layout, 10)) {
      const raw = upload(device, stored(values.subarray(chunk.firstRow), 'f16'));
      runOnce(device, (tape) => placeHalves(tape, matrix, matrix.parts[0]!, { ...chunk, raw, upper }));
    }
  }
  await expectValues(matrix, (row) => Math.fround(scales[row]! * CODE + offsets[row]!));
});

it.each([
  ['nvfp4_64', 192],
  ['nvfp4_256', 512],
] as const)('scales of E4M3 stand before a factor: %s', async (format, k) => {
  const matrix = matrixOf(format, 37, k);
  const groups = k / 64;
  const layout = { rows: 37, k, groupKs: 64, byRow: true };
  // 1, 1.125, 1.25 and so on.
  const mantissaOf = (row: number, i: number): number => (row + Math.floor(i / 16)) % 8;
  const bytes = Uint8Array.from(
    { length: 37 * groups * 4 },
    (_, at) => 0x38 + mantissaOf(Math.floor(at / (4 * groups)), (at % (4 * groups)) * 16),
  );
  for (const chunk of chunksOf(layout, 10)) {
    const raw = upload(device, bytes.slice(4 * groups * chunk.firstRow));
    runOnce(device, (tape) => placeWords(tape, matrix, matrix.parts[0]!, { ...chunk, raw }));
  }
  const [whole] = chunksOf({ ...layout, groupKs: k }, 37);
  const raw = upload(device, Float32Array.of(0.3));
  const one = { ...whole!, raw, rowStride: 0, groupStride: 0, source: 'f32', zero: null } as const;
  runOnce(device, (tape) => placeScales(tape, matrix, matrix.parts[0]!, { ...one, behindWords: true }));
  // The code 6 is 4.
  await expectValues(matrix, (row, i) => Math.fround(Math.fround(0.3) * (1 + mantissaOf(row, i) / 8)) * 4);
});
