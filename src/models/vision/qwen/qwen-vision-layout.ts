// The order in which a Qwen2.5-VL tower sees the patches of an image: cells of merge × merge patches, windows of cells. Windows of one
// shape follow each other, so that each shape is one attention over equally long items; rotations go with the patches.

const THETA = 10000;

/** Rows and columns of an image, in patches; multiples of a cell's side. */
export interface VisionGrid {
  rows: number;
  columns: number;
}

export interface VisionLayout {
  /** Row and column of each patch, in the order of the tower. */
  patches: readonly (readonly [row: number, column: number])[];
  /** Windows of one shape, which follow each other in that order. */
  groups: readonly { windows: number; patches: number }[];
  /** Place in that order of each patch of the cells row by row, as the result lists them. */
  places: Uint32Array<ArrayBuffer>;
  /** (cos, sin) pairs of each patch, [patches, dims]. */
  rotations: Float32Array<ArrayBuffer>;
}

/** What the order depends on. */
export interface LayoutConfig {
  /** Dimensions of a head. */
  dims: number;
  /** Patches along one side of a cell. */
  merge: number;
  /** Cells along one side of a window; Infinity: the image is one window. */
  window: number;
}

export function visionLayout(config: LayoutConfig, { rows, columns }: VisionGrid): VisionLayout {
  const { merge, window } = config;
  const [down, across] = [rows / merge, columns / merge];
  if (!Number.isInteger(down) || !Number.isInteger(across))
    throw new Error(
      `visionLayout: rows and columns of patches must be multiples of ${merge}, not ${rows} × ${columns}`,
    );
  const shapes = new Map<string, { windows: number; cells: [number, number][] }>();
  for (const top of starts(down, window)) {
    for (const left of starts(across, window)) {
      const [height, width] = [Math.min(window, down - top), Math.min(window, across - left)];
      const key = `${height} × ${width}`;
      const shape = shapes.get(key) ?? { windows: 0, cells: [] };
      shapes.set(key, shape);
      shape.windows++;
      for (let i = 0; i < height * width; i++)
        shape.cells.push([top + Math.floor(i / width), left + (i % width)]);
    }
  }
  const all = [...shapes.values()];
  const cells = all.flatMap(({ cells }) => cells);
  const patches = cells.flatMap(([y, x]) =>
    Array.from(
      { length: merge ** 2 },
      (_, i) => [y * merge + Math.floor(i / merge), x * merge + (i % merge)] as const,
    ),
  );
  const places = new Uint32Array(patches.length);
  cells.forEach(([y, x], at) => {
    for (let i = 0; i < merge ** 2; i++) places[(y * across + x) * merge ** 2 + i] = at * merge ** 2 + i;
  });
  return {
    patches,
    groups: all.map((one) => ({
      windows: one.windows,
      patches: (one.cells.length / one.windows) * merge ** 2,
    })),
    places,
    rotations: rotationsOf(config, patches),
  };
}

function starts(cells: number, window: number): number[] {
  if (window >= cells) return [0];
  return Array.from({ length: Math.ceil(cells / window) }, (_, i) => i * window);
}

/** The first half of the pairs turns by the row, the second by the column; angles are computed in f32, as in training. */
function rotationsOf(
  { dims }: Pick<LayoutConfig, 'dims'>,
  patches: VisionLayout['patches'],
): Float32Array<ArrayBuffer> {
  const rates = Float32Array.from({ length: dims / 4 }, (_, i) => 1 / Math.fround(THETA ** ((4 * i) / dims)));
  const table = new Float32Array(patches.length * dims);
  let at = 0;
  for (const place of patches) {
    for (const side of place) {
      for (const rate of rates) {
        const angle = Math.fround(side * rate);
        table[at++] = Math.cos(angle);
        table[at++] = Math.sin(angle);
      }
    }
  }
  return table;
}
