// The windows of a matrix: ranges of its columns in one format, each within one binding of the device, and the bytes that they take.

import { EngineError } from '../files/error.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { groupBytes, type WeightFormat } from './formats.ts';

/** Columns of a group. */
export const GROUP = 32;
export const BLOCK = 32;

/** The shape of a matrix, see matrix.ts. */
export interface Shape {
  name: string;
  k: number;
  columns: number;
  kernel: 1 | 3;
  experts: number;
  order?: Tensor | null;
}

/** Taps of a convolution's kernel; 16 in Winograd's form, 1 of other matrices. */
export function tapsOf({ kernel }: Pick<Shape, 'kernel'>, winograd: boolean): number {
  return winograd ? 16 : kernel * kernel;
}

/** Blocks of 32 k's, those of all taps. */
export function blocksOf(shape: Pick<Shape, 'k' | 'kernel' | 'order'>, winograd: boolean): number {
  return tapsOf(shape, winograd) * Math.ceil((shape.order?.columns ?? shape.k) / BLOCK);
}

/** Groups of one expert's columns. */
export function expertGroups({ columns }: Pick<Shape, 'columns'>): number {
  return groupsOf(columns);
}

/** An even number, so that two interleaved matrices reach the padding of what they make together. */
export function groupsOf(columns: number): number {
  return 2 * Math.ceil(columns / (2 * GROUP));
}

/** Groups of columns in one format, up to those of the next span. */
export interface FormatSpan {
  firstGroup: number;
  format: WeightFormat;
}

/** A window that is still to be allocated. */
export interface WindowPlan {
  format: WeightFormat;
  firstGroup: number;
  groups: number;
  /** Bytes of its codes, and of its scales: 0 where the format has none. */
  codes: number;
  scales: number;
}

/** The one span of a matrix whose columns share a format. */
export function wholly(format: WeightFormat): readonly FormatSpan[] {
  return [{ firstGroup: 0, format }];
}

export interface WindowOptions {
  spans: readonly FormatSpan[];
  winograd: boolean;
  bindingLimit: number;
}

/** Windows that a matrix takes, each in one format and within one binding. Throws unsupported where 32 rows exceed one. */
export function planWindows(shape: Shape, options: WindowOptions): WindowPlan[] {
  const total = shape.experts * groupsOf(shape.columns);
  return options.spans.flatMap((span, i) =>
    spanWindows(shape, span, (options.spans[i + 1]?.firstGroup ?? total) - span.firstGroup, options),
  );
}

function spanWindows(
  shape: Shape,
  { format, firstGroup: spanFirst }: FormatSpan,
  total: number,
  { winograd, bindingLimit }: WindowOptions,
): WindowPlan[] {
  const each = groupBytes(format, blocksOf(shape, winograd));
  const perWindow = Math.floor(bindingLimit / each.codes);
  if (perWindow === 0)
    throw new EngineError(
      'unsupported',
      `${shape.name}: 32 rows of ${tapsOf(shape, winograd) * shape.k} exceed one binding of ${bindingLimit} bytes: choose another model, or an adapter that binds more`,
      { param: shape.name },
    );
  return Array.from({ length: Math.ceil(total / perWindow) }, (_, i) => {
    const groups = Math.min(perWindow, total - i * perWindow);
    const bytes = { codes: groups * each.codes, scales: groups * each.scales };
    return { format, firstGroup: spanFirst + i * perWindow, groups, ...bytes };
  });
}
