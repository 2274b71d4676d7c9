// AltUp's routes in f64, for tests of its kernels.

import type { Device } from '../../src/gpu/device.ts';
import type { StreamRouter } from '../../src/kernels/stream-router.ts';
import type { Random } from './compute.ts';

const EPS = 1e-6;

export interface RouterCase {
  router: StreamRouter;
  /** The four numbers of a row. */
  routes(row: Float32Array): number[];
}

export function routerCase(device: Device, random: Random, columns: number): RouterCase {
  const norm = random.floats(columns);
  const matrix = random.floats(4 * columns).map((value) => 3 * Math.sqrt(columns) * value);
  return {
    router: {
      norm: device.tensor('weights', 'norm', [columns], norm),
      matrix: device.tensor('weights', 'matrix', [4, columns], matrix),
      eps: EPS,
    },
    routes(row) {
      const rate = 1 / Math.sqrt(row.reduce((sum, value) => sum + value * value, 0) / columns + EPS);
      return [0, 1, 2, 3].map((q) =>
        Math.tanh(
          (row.reduce((sum, value, i) => sum + value * norm[i]! * matrix[q * columns + i]!, 0) * rate) /
            columns,
        ),
      );
    },
  };
}
