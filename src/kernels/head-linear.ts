// Products with a matrix for each head: columns of the result that belong to a head depend on the head's own columns of x. A matrix may hold the
// weights of several such products, of which one takes some columns of each head. `headLinearAcross` multiplies by the same weights from
// the other side.

import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { expertGroups, weightOperands, type Matrix, type MatrixWindow } from './matrix.ts';

/** Lanes that share a sum, where they may wait for each other. */
const SHARERS = 8;
/** Rows of a workgroup, in tapes of several. */
const ROWS = 4;

/** The columns of each head's matrix that take part. */
export interface HeadColumns {
  first: number;
  count: number;
  /** All heads read the same columns of x; left out: each has its own. */
  isShared?: boolean;
}

/** A tensor whose heads' first columns a product fills, and what it is multiplied by. */
export interface HeadTarget {
  y: Tensor;
  scale: number;
}

/**
 * y[h] = scale · x[h] · W[h]ᵀ; x [rows, heads · width], of which each head's first k columns are read → [rows, heads · columns.count], or the
 * target
 */
export function headLinear(
  x: Tensor,
  weights: Matrix,
  columns: HeadColumns,
  target: HeadTarget | null = null,
): Tensor {
  const { experts: heads, k } = weights;
  const tape = tapeOf(x);
  assertWhole('headLinear', weights, columns, { columns: x.columns, of: k });
  const { y, scale } = target ?? {
    y: tape.tensor([...x.shape.slice(0, -1), heads * columns.count]),
    scale: 1,
  };
  assertTarget('headLinear', y, heads, columns.count);
  const { rows, sharers } = tiling(tape);
  const across = Math.ceil(columns.count / 4 / 8);
  dispatch(x, y, weights, columns, {
    shader: 'head-linear.wgsl',
    params: { ROWS: rows, SLICES: sharers },
    args: { x_head_quads: x.columns / heads / 4, y_head_quads: y.columns / heads / 4, scale },
    across,
  });
  return y;
}

/**
 * y[h] = scale · x[h] · W[h], into the first k columns of each head of y; x [rows, heads · width], of which each head's first columns.count are read;
 * y [rows, heads · n] → y. Where heads share x, it has columns.count columns. `target` null: → [rows, heads · k], whose
 * padding is not written
 */
export function headLinearAcross(
  x: Tensor,
  weights: Matrix,
  columns: HeadColumns,
  target: HeadTarget | null = null,
): Tensor {
  const { experts: heads, k, blocks } = weights;
  const { y, scale } = target ?? {
    y: tapeOf(x).tensor([...x.shape.slice(0, -1), heads * k]),
    scale: 1,
  };
  const width = columns.isShared ? heads * x.columns : x.columns;
  assertWhole('headLinearAcross', weights, columns, { columns: width, of: columns.count });
  assertTarget('headLinearAcross', y, heads, k);
  const { rows, sharers } = tiling(tapeOf(x));
  dispatch(x, y, weights, columns, {
    shader: 'head-linear-across.wgsl',
    params: { ROWS: rows, SPREAD: sharers },
    args: {
      x_head_quads: columns.isShared ? 0 : x.columns / heads / 4,
      y_head_quads: y.columns / heads / 4,
      scale,
    },
    across: blocks,
  });
  return y;
}

interface HeadProduct {
  shader: string;
  params: Record<string, number>;
  args: Record<string, number>;
  /** Workgroups of a head. */
  across: number;
}

function dispatch(
  x: Tensor,
  y: Tensor,
  weights: Matrix,
  columns: HeadColumns,
  { shader, params, args, across }: HeadProduct,
): void {
  const tape = tapeOf(x);
  const groups = expertGroups(weights);
  for (const window of weights.windows) {
    const { first, count } = headsWithin(window, groups);
    tape.dispatch(shader, {
      params: { ...params, W: window.format.name },
      args: {
        heads: weights.experts,
        rows: x.rows(tape.capacity),
        x_quads: x.stride / 4,
        y_quads: y.stride / 4,
        quads: columns.count / 4,
        first_quad: columns.first / 4,
        k_quads: weights.k / 4,
        blocks: weights.blocks,
        head_groups: groups,
        first_group: window.firstGroup,
        groups: window.groups,
        first_head: first,
        ...args,
      },
      bind: { x, y, ...weightOperands(tape.device, window) },
      groups: (sizes) => [count * across, Math.ceil(x.rows(sizes) / params['ROWS']!)],
    });
  }
}

/** Heads with columns in a window. */
function headsWithin({ firstGroup, groups }: MatrixWindow, each: number): { first: number; count: number } {
  const first = Math.floor(firstGroup / each);
  return { first, count: Math.ceil((firstGroup + groups) / each) - first };
}

/** The order of a sum follows from `sharers`, which the adapter decides. */
function tiling({ plain, device, capacity }: Tape): { rows: number; sharers: number } {
  const sharers = plain || device.profile.matvecRows === null ? 1 : SHARERS;
  return { sharers, rows: (capacity['rows'] ?? 0) === 1 ? 1 : ROWS };
}

function assertTarget(what: string, { columns }: Tensor, heads: number, least: number): void {
  if (columns % (4 * heads) !== 0 || columns < heads * least)
    throw new Error(`${what}: ${columns} columns for ${heads} heads of at least ${least}`);
}

function assertWhole(
  what: string,
  { name, experts, k, columns: all, order, lowRank, smooth }: Matrix,
  { first, count }: HeadColumns,
  x: { columns: number; of: number },
): void {
  const isWhole = [k, first, count, x.columns].every((columns) => columns % 4 === 0);
  if (!isWhole || first + count > all || x.columns % experts !== 0 || x.columns < experts * x.of)
    throw new Error(
      `${what}: ${x.columns} columns by ${count} of ${all} columns and ${k} of ${experts} heads; multiples of 4 are wanted`,
    );
  if (order || lowRank || smooth)
    throw new Error(`${what}: ${name} is not multiplied with factors beside it`);
}
