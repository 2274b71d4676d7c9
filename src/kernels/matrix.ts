// A weight matrix in the packed layout that every matmul variant reads (shaders/weights): groups of 32 columns, blocks of
// 32 k's. It spans windows, each within one binding, and remembers which checkpoint tensors it holds. A convolution's matrix
// has a tap's k's after the other's; experts' matrices of one shape stand one behind the other, each from a group of its own.

import { EngineError } from '../files/error.ts';
import type { Device } from '../gpu/device.ts';
import { Tape } from '../gpu/tape.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';

export type Format = 'f32' | 'f16' | 'bf16' | 'int8' | 'int4';

/** How values lie in a checkpoint. */
export type SourceFormat = 'f32' | 'f16' | 'bf16';

export interface MatrixWindow {
  codes: Region;
  /** One f32 for 32 k's; null for formats that need none. */
  scales: Region | null;
  firstGroup: number;
  groups: number;
}

/** Where rows of a checkpoint's tensor stand among the columns: unit by unit. */
export interface Placement {
  firstColumn: number;
  unit: number;
  unitStride: number;
}

export interface MatrixPart {
  name: string;
  rows: number;
  /** Rows of the checkpoint's tensor before the part. */
  firstRow: number;
  placement: Placement;
}

/** y = x · Wᵀ (+ bias): `columns` outputs, `k` inputs a tap; of experts, each. */
export interface Matrix {
  format: Format;
  columns: number;
  k: number;
  /** kh · kw of a convolution, 16 in Winograd's form, else 1. */
  taps: number;
  /** A 3×3's taps g are held as G · g · Gᵀ, for kernels/winograd.ts. */
  winograd: boolean;
  /** Blocks of 32 k's, those of all taps. */
  blocks: number;
  /** Matrices that there are of this shape; 1 where there are no experts. */
  experts: number;
  windows: MatrixWindow[];
  parts: MatrixPart[];
  bias: Tensor | null;
  /** What low-rank adapters add, for the rows that have one; comes and goes with them. */
  lora: LoraFactors | null;
}

/** Layout in shaders/lib/lora.wgsl. */
export interface LoraFactors {
  region: Region;
  /** The largest rank, a multiple of 4. */
  rank: number;
}

const BITS: Record<Format, number> = { f32: 32, f16: 16, bf16: 16, int8: 8, int4: 4 };
/** k's in one step of weights/$W.wgsl. */
export const STEP: Record<Format, number> = { f32: 4, f16: 4, bf16: 4, int8: 4, int4: 8 };

const GROUP = 32;
const BLOCK = 32;

export function hasScales(format: Format): boolean {
  return format === 'int8' || format === 'int4';
}

/** Groups of one expert's columns. */
export function expertGroups({ columns }: Matrix): number {
  return groupsOf(columns);
}

/** Even, so that two interleaved matrices reach the padding of what they make together. */
function groupsOf(columns: number): number {
  return 2 * Math.ceil(columns / (2 * GROUP));
}

/** Bytes of one group's block. */
function codeBytes(format: Format): number {
  return (GROUP * BLOCK * BITS[format]) / 8;
}

/** Rows of several tensors one after the other (q, k and v). */
export function stacked(parts: readonly { name: string; rows: number }[]): MatrixPart[] {
  let firstColumn = 0;
  return parts.map(({ name, rows }) => {
    const part = { name, rows, firstRow: 0, placement: { firstColumn, unit: rows, unitStride: rows } };
    firstColumn += rows;
    return part;
  });
}

/** Rows of two tensors in turns of two, so that one lane holds both (gate and up). */
export function interleaved(first: string, second: string, rows: number): MatrixPart[] {
  return [first, second].map((name, i) => ({
    name,
    rows,
    firstRow: 0,
    placement: { firstColumn: 2 * i, unit: 2, unitStride: 4 },
  }));
}

/** The same of one tensor's two halves (value and gate). */
export function interleavedHalves(name: string, rows: number): MatrixPart[] {
  return interleaved(name, name, rows).map((part, i) => ({ ...part, firstRow: i * rows }));
}

/** The parts of equally shaped matrices as one: each begins with a group of its own. */
export function expertParts(each: readonly MatrixPart[][]): MatrixPart[] {
  const columns = GROUP * groupsOf(each[0]!.reduce((sum, { rows }) => sum + rows, 0));
  return each.flatMap((parts, expert) =>
    parts.map(({ placement, ...part }) => ({
      ...part,
      placement: { ...placement, firstColumn: placement.firstColumn + expert * columns },
    })),
  );
}

/** What a matrix is beyond rows and columns. */
export interface MatrixForm {
  /** Of a convolution, and whether its taps are held in Winograd's form. */
  kernel?: 1 | 3;
  winograd?: boolean;
  /** The parts are those of so many matrices: see expertParts. */
  experts?: number;
}

export function allocateMatrix(
  device: Device,
  format: Format,
  k: number,
  parts: MatrixPart[],
  label: string,
  { kernel = 1, winograd = false, experts = 1 }: MatrixForm = {},
): Matrix {
  const columns = parts.reduce((sum, part) => sum + part.rows, 0) / experts;
  const taps = winograd ? 16 : kernel * kernel;
  const blocks = taps * Math.ceil(k / BLOCK);
  const groups = experts * groupsOf(columns);
  const perWindow = Math.floor(device.capabilities.bindingLimit / (blocks * codeBytes(format)));
  if (perWindow === 0)
    throw new EngineError(
      'unsupported',
      `${label}: 32 rows of ${taps * k} exceed one binding of ${device.capabilities.bindingLimit} bytes: choose another model, or an adapter that binds more`,
      { param: label },
    );
  const windows = allocateWindows(device, label, groups, perWindow, [
    blocks * codeBytes(format),
    hasScales(format) ? blocks * GROUP * 4 : 0,
  ]);
  const wholeGroups = Math.floor(columns / GROUP);
  const isPadded = groupsOf(columns) > wholeGroups;
  for (const window of windows) {
    if (isPadded && (experts > 1 || window.firstGroup + window.groups > wholeGroups)) clear(device, window);
  }
  return { format, columns, k, taps, winograd, blocks, experts, windows, parts, bias: null, lora: null };
}

/** `bytes` of a group's codes and scales. Where one window finds no room, those before it are given back. */
function allocateWindows(
  device: Device,
  label: string,
  groups: number,
  perWindow: number,
  [codes, scales]: readonly [codes: number, scales: number],
): MatrixWindow[] {
  const windows: MatrixWindow[] = [];
  const made: GPUBuffer[] = [];
  const region = (bytes: number): Region => {
    const buffer = device.allocate('weights', label, bytes);
    made.push(buffer);
    return { buffer, offset: 0, size: buffer.size };
  };
  try {
    for (let firstGroup = 0; firstGroup < groups; firstGroup += perWindow) {
      const count = Math.min(perWindow, groups - firstGroup);
      windows.push({
        codes: region(count * codes),
        scales: scales > 0 ? region(count * scales) : null,
        firstGroup,
        groups: count,
      });
    }
    return windows;
  } catch (error) {
    made.forEach((buffer) => device.free(buffer));
    throw error;
  }
}

/** Columns that pad the last groups must be zero: they become the padding of activations. */
function clear(device: Device, window: MatrixWindow): void {
  const encoder = device.gpu.createCommandEncoder();
  encoder.clearBuffer(window.codes.buffer);
  if (window.scales) encoder.clearBuffer(window.scales.buffer);
  device.gpu.queue.submit([encoder.finish()]);
}

/** Operands of weights/$W.wgsl. */
export function weightOperands(window: MatrixWindow): Record<string, Region> {
  return window.scales ? { codes: window.codes, scales: window.scales } : { codes: window.codes };
}

/** Packs those rows of `raw`, as they lie in the checkpoint, that are a part's; quantises where the format asks for it. */
export function packRows(
  device: Device,
  matrix: Matrix,
  part: MatrixPart,
  chunk: { raw: Region; source: SourceFormat; firstRow: number; rows: number },
): void {
  const tape = new Tape(device, {});
  for (const window of matrix.windows.filter((window) => reaches(part, window))) {
    tape.dispatch('pack.wgsl', {
      params: { SOURCE: chunk.source, W: matrix.format, WINOGRAD: matrix.winograd },
      args: {
        rows: chunk.rows,
        k: matrix.k,
        taps: matrix.taps,
        blocks: matrix.blocks,
        first_row: chunk.firstRow - part.firstRow,
        part_rows: part.rows,
        unit: part.placement.unit,
        unit_stride: part.placement.unitStride,
        first_column: part.placement.firstColumn,
        first_group: window.firstGroup,
        groups: window.groups,
      },
      bind: { raw: chunk.raw, ...weightOperands(window) },
      groups: () => [Math.ceil(chunk.rows / 64), matrix.blocks],
    });
  }
  tape.finish();
  tape.run({});
  tape.destroy();
}

/** Whether columns of a part lie in a window. */
function reaches({ rows, placement }: MatrixPart, { firstGroup, groups }: MatrixWindow): boolean {
  const { firstColumn, unit, unitStride } = placement;
  const lastColumn = firstColumn + Math.floor((rows - 1) / unit) * unitStride + ((rows - 1) % unit);
  return lastColumn >= firstGroup * GROUP && firstColumn < (firstGroup + groups) * GROUP;
}

/** Widens values, from the one after `skip` on, into `y`: a vector's placed like rows of a part, or a table's rows. */
export function widen(
  device: Device,
  y: Tensor,
  placement: Placement,
  chunk: { raw: Region; source: SourceFormat; size: number; skip?: number },
): void {
  const tape = new Tape(device, {});
  const groups = Math.ceil(chunk.size / 64);
  const across = Math.min(groups, device.capabilities.maxWorkgroups);
  tape.dispatch('widen.wgsl', {
    params: { SOURCE: chunk.source },
    args: {
      skip: chunk.skip ?? 0,
      size: chunk.size,
      unit: placement.unit,
      unit_stride: placement.unitStride,
      first: placement.firstColumn,
    },
    bind: { raw: chunk.raw, y },
    groups: () => [across, Math.ceil(groups / across)],
  });
  tape.finish();
  tape.run({});
  tape.destroy();
}
