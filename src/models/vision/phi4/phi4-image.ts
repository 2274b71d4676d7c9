// Images of Phi-4-multimodal as its tower reads them: patches of the whole canvas, then of the crops without masked patches, and those of the others,
// and which rows of the tower stand in which order.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { MediaInput, PreparedMedium } from '../../media.ts';
import { drawCanvas, planCrops, shrinkCanvas, type CropPlan, type CropRule } from './phi4-crops.ts';

/** Patches of a crop of which some are masked. */
interface CutPatches {
  /** Places of the patches in the grid of a crop, those that are not masked first. Masked ones share a cell with some that are not. */
  kept: number[];
  /** Those that are not masked, and the lines and columns that they fill. */
  seen: number;
  lines: number;
  columns: number;
  /** Indices into `kept` of the four patches of each cell, lines of cells one after the other. */
  cells: number[][];
}

/** Patches along a side of a crop. */
const across = ({ side, patch }: CropRule): number => side / patch;
const even = (count: number): number => count + (count % 2);

/** The four patches of each cell of a grid of patches. */
function cellsOf(
  lines: number,
  columns: number,
  place: (line: number, column: number) => number,
): number[][] {
  return Array.from({ length: (lines / 2) * (columns / 2) }, (_, cell) => {
    const [line, column] = [2 * Math.floor(cell / (columns / 2)), 2 * (cell % (columns / 2))];
    return [0, 1, 2, 3].map((i) => place(line + Math.floor(i / 2), column + (i % 2)));
  });
}

function cutPatches(plan: CropPlan, rule: CropRule): CutPatches {
  const [n, lines, columns] = [across(rule), even(plan.down), even(plan.across)];
  const all = Array.from(
    { length: lines * columns },
    (_, i) => [Math.floor(i / columns), i % columns] as const,
  );
  const isSeen = ([line, column]: readonly [number, number]): boolean =>
    line < plan.down && column < plan.across;
  const kept = [...all.filter(isSeen), ...all.filter((one) => !isSeen(one))].map(([y, x]) => y * n + x);
  const at = new Map(kept.map((place, i) => [place, i]));
  return {
    kept,
    seen: plan.down * plan.across,
    lines: plan.down,
    columns: plan.across,
    cells: cellsOf(lines, columns, (line, column) => at.get(line * n + column)!),
  };
}

/**
 * Learned places of a cut crop's patches: those that are not masked are spread over the whole crop, as they are in f32, and masked ones have the
 * first.
 */
function placesOf({ kept, seen, lines, columns }: CutPatches, n: number): Uint32Array<ArrayBuffer> {
  const { fround } = Math;
  const bounds = Array.from({ length: n - 1 }, (_, i) => fround((i + 1) / n));
  const spread =
    (count: number) =>
    (i: number): number => {
      const share = Math.min(fround(i * fround(1 / count)), fround(1 - 1e-6));
      return bounds.filter((bound) => bound <= share).length;
    };
  const [down, right] = [spread(lines), spread(columns)];
  return Uint32Array.from(kept, (place, i) =>
    i < seen ? down(Math.floor(place / n)) * n + right(place % n) : 0,
  );
}

/** Indices of the rows of an image: lines of the crops' cells with a row behind each, a row, and those of the whole canvas likewise. */
function rowOrder(plan: CropPlan, cut: CutPatches | null, n: number): number[] {
  const { columns, rows } = plan.grid;
  const [cells, wide] = [(n / 2) ** 2, n / 2];
  const crops = Array.from({ length: columns * rows }, (_, i) => isCut(plan, i, n));
  const wholes = 1 + crops.filter((is) => !is).length;
  const ofCut = cut?.cells.length ?? 0;
  const firsts: number[] = [];
  for (let i = 0, whole = 1, made = 0; i < crops.length; i++)
    firsts.push(crops[i] ? wholes * cells + made++ * ofCut : whole++ * cells);
  const line = wholes * cells + crops.filter(Boolean).length * ofCut;
  const [seenDown, seenAcross] = [
    (rows - 1) * wide + Math.ceil(plan.down / 2),
    (columns - 1) * wide + Math.ceil(plan.across / 2),
  ];
  const order: number[] = [];
  for (let y = 0; y < seenDown; y++) {
    for (let x = 0; x < seenAcross; x++) {
      const crop = Math.floor(y / wide) * columns + Math.floor(x / wide);
      const width = crops[crop] ? even(cut!.columns) / 2 : wide;
      order.push(firsts[crop]! + (y % wide) * width + (x % wide));
    }
    order.push(line);
  }
  order.push(line + 1);
  for (let y = 0; y < wide; y++) {
    for (let x = 0; x < wide; x++) order.push(y * wide + x);
    order.push(line);
  }
  return order;
}

/** Whether some patches of the crop number `i` are masked. */
function isCut({ grid: { columns, rows }, across: right, down }: CropPlan, i: number, n: number): boolean {
  return (right < n && i % columns === columns - 1) || (down < n && Math.floor(i / columns) === rows - 1);
}

/** Number of the rows of an image. */
export function phi4Rows(plan: CropPlan, rule: CropRule): number {
  const wide = across(rule) / 2;
  const [down, right] = [plan.grid.rows - 1, plan.grid.columns - 1].map((count) => count * wide) as [
    number,
    number,
  ];
  const lines = down + Math.ceil(plan.down / 2);
  return lines * (right + Math.ceil(plan.across / 2) + 1) + 1 + wide * (wide + 1);
}

export function* phi4Image(
  image: Pixels,
  rule: CropRule,
): Generator<number | void, Pick<PreparedMedium, 'inputs' | 'layout'> & { rows: number }, void> {
  const plan = planCrops(image, rule);
  const rows = phi4Rows(plan, rule);
  yield rows;
  const n = across(rule);
  const canvas = yield* drawCanvas(image, plan, rule);
  const whole = yield* shrinkCanvas(canvas, rule.side);
  const crops = Array.from({ length: plan.grid.columns * plan.grid.rows }, (_, i) => i);
  const full = crops.filter((i) => !isCut(plan, i, n));
  const cut = full.length < crops.length ? cutPatches(plan, rule) : null;
  const all = Array.from({ length: n * n }, (_, i) => i);
  const patches = new PatchValues((1 + full.length) * n * n, rule);
  patches.add({ data: whole, width: rule.side }, 0, 0, all);
  const seen = cut && new PatchValues((crops.length - full.length) * cut.kept.length, rule);
  for (const i of crops) {
    yield;
    const [left, top] = [(i % plan.grid.columns) * rule.side, Math.floor(i / plan.grid.columns) * rule.side];
    if (full.includes(i)) patches.add(canvas, left, top, all);
    else seen!.add(canvas, left, top, cut!.kept);
  }
  const { columns } = patches;
  const shapeOf = (count: number, of: number): number[] => [count, of, columns];
  const inputs: Record<string, MediaInput> = {
    patches: { shape: shapeOf(1 + full.length, n * n), data: patches.values },
    ...mixed(
      'cells',
      cellsOf(n, n, (line, column) => line * n + column),
    ),
    ...mixed(
      'rows',
      rowOrder(plan, cut, n).map((row) => [row]),
    ),
  };
  if (cut) {
    const count = crops.length - full.length;
    inputs['cut'] = { shape: shapeOf(count, cut.kept.length), data: seen!.values };
    inputs['counts'] = { shape: [count], data: new Uint32Array(count).fill(cut.seen) };
    Object.assign(
      inputs,
      mixed(
        'places',
        [...placesOf(cut, n)].map((place) => [place]),
      ),
    );
    Object.assign(inputs, mixed('cutCells', cut.cells));
  }
  return { inputs, layout: null, rows };
}

/** Rows of which each is the mean of others, by their indices: what mixRows takes, as inputs of this name. */
function mixed(name: string, rows: readonly (readonly number[])[]): Record<string, MediaInput> {
  const taps = rows[0]!.length;
  const shape = [rows.length, taps];
  return {
    [name]: { shape, data: Uint32Array.from(rows.flat()) },
    [`${name}Shares`]: { shape, data: new Float32Array(rows.length * taps).fill(1 / taps) },
  };
}

/** Values of patches, channel by channel. */
class PatchValues {
  readonly columns: number;
  readonly values: Float32Array<ArrayBuffer>;
  readonly #rule: CropRule;
  #at = 0;

  constructor(patches: number, rule: CropRule) {
    this.#rule = rule;
    this.columns = 3 * rule.patch ** 2;
    this.values = new Float32Array(patches * this.columns);
  }

  /** Adds patches of a crop whose first pixel is at `left` and `top` of an image, by their places in the crop's grid. */
  add(
    { data, width }: { data: Uint8Array | Float32Array; width: number },
    left: number,
    top: number,
    places: readonly number[],
  ): void {
    const { side, patch, scale, means, spreads } = this.#rule;
    for (const place of places) {
      const [x, y] = [
        left + (place % (side / patch)) * patch,
        top + Math.floor(place / (side / patch)) * patch,
      ];
      for (let channel = 0; channel < 3; channel++) {
        const [factor, shift] = [scale / spreads[channel]!, means[channel]! / spreads[channel]!];
        for (let i = 0; i < patch * patch; i++) {
          const pixel = (y + Math.floor(i / patch)) * width + x + (i % patch);
          this.values[this.#at++] = data[3 * pixel + channel]! * factor - shift;
        }
      }
    }
  }
}
