// Images as vision encoders of transformers are given them, in patches.

import type { Values } from '../image-golden.ts';

/** [1, 3, side, side] → [1, patches, 3 · patch²]; pixels behind the last whole patch take no part. */
export function patchesOf({ shape, values }: Values, patch: number): Values {
  const side = shape[2]!;
  const across = Math.floor(side / patch);
  const rows: number[] = [];
  for (let cell = 0; cell < across ** 2; cell++)
    for (let channel = 0; channel < 3; channel++)
      for (let i = 0; i < patch ** 2; i++) {
        const y = Math.floor(cell / across) * patch + Math.floor(i / patch);
        const x = (cell % across) * patch + (i % patch);
        rows.push(values[(channel * side + y) * side + x]!);
      }
  return { shape: [1, across ** 2, 3 * patch ** 2], values: Float32Array.from(rows) };
}
