// The matrix units of GPUs, as chooseMatrixUnit tells them.

import type { MatrixUnit } from '../../src/gpu/matrix-units.ts';

export const MATRIX_UNITS = {
  nvidia: { rows: 16, columns: 16, depth: 16, subgroup: 32, pinned: false },
  amd: { rows: 16, columns: 16, depth: 16, subgroup: 32, pinned: true },
  'intel Arc A': { rows: 8, columns: 8, depth: 16, subgroup: 8, pinned: true },
  'intel Arc B': { rows: 8, columns: 16, depth: 16, subgroup: 16, pinned: true },
  apple: { rows: 8, columns: 8, depth: 8, subgroup: 32, pinned: false },
} satisfies Record<string, MatrixUnit>;
