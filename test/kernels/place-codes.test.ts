// Codes in words, in every order in which files hold them, as they stand in the packed layout.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { FORMATS } from '../../src/kernels/formats.ts';
import {
  allocateMatrix,
  interleavedHalves,
  stacked,
  type Matrix,
  type MatrixPart,
} from '../../src/kernels/matrix.ts';
import { placeCodes, type CodeLayout } from '../../src/kernels/place-codes.ts';
import { runOnce } from '../../src/kernels/run-once.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { poison, Random, upload } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

type Codes = (row: number, k: number) => number;

/** A tensor's words as a file holds them: of each, the rows and k's of its codes from the lowest bits. */
function wordsOf(layout: CodeLayout, bits: number, rows: number, k: number, codes: Codes): Uint32Array {
  const per = 32 / bits;
  const [outer, inner] = {
    rows: [rows, k / per],
    pairs: [rows, k / per],
    columns: [k / per, rows],
    interleaved: [k, rows / per],
  }[layout] as [number, number];
  const codeAt = (a: number, b: number, slot: number): number => {
    if (layout === 'rows') return codes(a, b * per + slot);
    if (layout === 'pairs') return codes(a, b * per + (slot ^ 1));
    if (layout === 'columns') return codes(b, a * per + slot);
    return codes(b * per + [0, 2, 4, 6, 1, 3, 5, 7][slot]!, a);
  };
  return Uint32Array.from({ length: outer * inner }, (_, at) => {
    let word = 0;
    for (let slot = 0; slot < per; slot++)
      word |= codeAt(Math.floor(at / inner), at % inner, slot) << (slot * bits);
    return word >>> 0;
  });
}

/** The code of each column and k as packed: groups of 32 columns, in which words of one column's k's follow those of the others. */
async function packedCodes(on: Device, matrix: Matrix, bits: number): Promise<Codes> {
  const per = 32 / bits;
  const windows = await Promise.all(
    matrix.windows.map(async ({ codes, firstGroup, groups }) => ({
      ...{ firstGroup, groups, words: new Uint32Array(await on.read(codes)) },
    })),
  );
  return (column, k) => {
    const group = Math.floor(column / 32);
    const { words, firstGroup } = windows.find((one) => group < one.firstGroup + one.groups)!;
    const word = ((group - firstGroup) * matrix.blocks * bits + Math.floor(k / per)) * 32 + (column % 32);
    return (words[word]! >>> ((k % per) * bits)) & (2 ** bits - 1);
  };
}

interface Case {
  layout: CodeLayout;
  bits: 4 | 8;
  signed?: boolean;
  rows?: number;
  k?: number;
  /** Rows of the tensor that a chunk holds. */
  chunk?: number;
  parts?: (rows: number) => MatrixPart[];
  isOrdered?: boolean;
  bindingLimit?: number;
}

const whole = (rows: number): MatrixPart[] => stacked([{ name: 'w', rows }]);

async function expectPlaced(of: Case): Promise<void> {
  const { layout, bits, signed = false, rows = 72, k = 96, chunk = Infinity, parts = whole } = of;
  const on = of.bindingLimit ? disguise(device, { bindingLimit: of.bindingLimit }) : device;
  const random = new Random(rows + k + bits);
  const values = Uint8Array.from({ length: rows * k }, () => random.integer(2 ** bits));
  const codes: Codes = (row, i) => values[row * k + i]!;
  const matrix = allocateMatrix(on, FORMATS[bits === 4 ? 'u4_32' : 'u8_32'], k, parts(rows));
  for (const window of matrix.windows) poison(on, window.codes);
  const order = of.isOrdered ? random.permutation(k) : null;
  const places = order && on.tensor('step', 'places', [1, k], Uint32Array.from(order));
  const words = wordsOf(layout, bits, rows, k, codes);
  const outer = layout === 'columns' ? (k * bits) / 32 : layout === 'interleaved' ? k : rows;
  const inner = words.length / outer;
  for (const part of matrix.parts) {
    for (let firstRow = 0; firstRow < outer; firstRow += chunk) {
      const count = Math.min(chunk, outer - firstRow);
      const raw = upload(on, words.subarray(firstRow * inner, (firstRow + count) * inner));
      runOnce(on, (tape) =>
        placeCodes(tape, matrix, part, { raw, layout, signed, rows, firstRow, count, places }),
      );
    }
  }
  expect(on.takeError()).toBeNull();
  const found = await packedCodes(on, matrix, bits);
  const wrong: number[] = [];
  for (const { rows: count, firstRow, placement } of matrix.parts) {
    for (let row = 0; row < count; row++) {
      const { firstColumn, unit, unitStride } = placement;
      const column = firstColumn + Math.floor(row / unit) * unitStride + (row % unit);
      for (let i = 0; i < k; i++) {
        const wanted = codes(firstRow + row, i) ^ (signed ? 2 ** (bits - 1) : 0);
        if (found(column, order ? order[i]! : i) !== wanted) wrong.push(column);
      }
    }
  }
  expect([...new Set(wrong)]).toEqual([]);
}

it.each<Case>([
  { layout: 'rows', bits: 4 },
  { layout: 'rows', bits: 8 },
  { layout: 'rows', bits: 8, signed: true },
  { layout: 'pairs', bits: 4 },
  { layout: 'columns', bits: 4 },
  { layout: 'columns', bits: 8 },
  { layout: 'interleaved', bits: 4 },
  { layout: 'rows', bits: 4, rows: 1, k: 32 },
  { layout: 'columns', bits: 4, rows: 8, k: 32 },
])('codes at their places: %j', expectPlaced);

it.each<Case>([
  { layout: 'rows', bits: 4, chunk: 10 },
  { layout: 'columns', bits: 8, chunk: 6 },
  { layout: 'interleaved', bits: 4, chunk: 40 },
])('codes in chunks: %j', expectPlaced);

it.each<Case>([
  { layout: 'rows', bits: 4, parts: (rows) => interleavedHalves('w', rows / 2) },
  { layout: 'columns', bits: 4, parts: (rows) => interleavedHalves('w', rows / 2) },
  { layout: 'interleaved', bits: 4, parts: (rows) => interleavedHalves('w', rows / 2) },
])('codes of two halves in turns, %#', expectPlaced);

it.each<Case>([
  { layout: 'rows', bits: 4, isOrdered: true },
  { layout: 'columns', bits: 4, isOrdered: true },
  { layout: 'columns', bits: 8, isOrdered: true, chunk: 4 },
])('codes k by k in another order: %j', expectPlaced);

it.each<Case>([
  { layout: 'rows', bits: 8, rows: 168, chunk: 40, bindingLimit: 7168 },
  { layout: 'interleaved', bits: 4, rows: 168, chunk: 40, bindingLimit: 7168 },
])('codes in several windows: %j', expectPlaced);
