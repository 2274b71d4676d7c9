// Learned positions of a square of patches for patches of another grid: each new position is a mixture of 16 old ones, as PyTorch's
// bicubic interpolation without antialiasing weighs them, or of 4, as its bilinear one does.

/** Parameter of the cubic filter. */
const A = -0.75;

interface Filter {
  /** Old positions along a side that one new position mixes. */
  taps: number;
  /** Share of one at a distance. */
  at(x: number): number;
}
const CUBIC: Filter = { taps: 4, at: cubic };
const LINEAR: Filter = { taps: 2, at: (x) => 1 - x };

/** `from` and `to`: patches along a side. → old positions of each new one, and their shares, [side², 16] */
export function placeMixtures(from: number, to: number) {
  const patches = Array.from({ length: to * to }, (_, i) => [Math.floor(i / to), i % to] as const);
  return gridMixtures(from, { rows: to, columns: to }, patches);
}

type Mixtures = (
  from: number,
  grid: { rows: number; columns: number },
  patches: readonly (readonly [row: number, column: number])[],
) => { sources: Uint32Array<ArrayBuffer>; shares: Float32Array<ArrayBuffer> };

/** `from`: positions along a side of the table; `patches` of a grid. → positions of each patch, and their shares, [patches, 16] */
export const gridMixtures: Mixtures = (...grid) => mixtures(CUBIC, ...grid);

/** The same, bilinear: [patches, 4] */
export const linearMixtures: Mixtures = (...grid) => mixtures(LINEAR, ...grid);

function mixtures(filter: Filter, ...[from, grid, patches]: Parameters<Mixtures>): ReturnType<Mixtures> {
  const [rows, columns] = [lineMixtures(filter, from, grid.rows), lineMixtures(filter, from, grid.columns)];
  const sources = new Uint32Array(patches.length * filter.taps ** 2);
  const shares = new Float32Array(sources.length);
  let at = 0;
  for (const [row, column] of patches) {
    for (const [y, down] of rows[row]!) {
      for (const [x, across] of columns[column]!) {
        sources[at] = y * from + x;
        shares[at++] = down * across;
      }
    }
  }
  return { sources, shares };
}

type Share = readonly [source: number, share: number];

function lineMixtures({ taps, at }: Filter, from: number, to: number): Share[][] {
  return Array.from({ length: to }, (_, i) => {
    const centre = ((i + 0.5) * from) / to - 0.5;
    const first = Math.floor(centre) - (taps / 2 - 1);
    return Array.from({ length: taps }, (__, tap) => {
      const source = Math.min(Math.max(first + tap, 0), from - 1);
      return [source, at(Math.abs(centre - (first + tap)))];
    });
  });
}

function cubic(x: number): number {
  if (x <= 1) return ((A + 2) * x - (A + 3)) * x * x + 1;
  return x < 2 ? A * (((x - 5) * x + 8) * x - 4) : 0;
}
