// The blocks of a denoiser, one after the other; a tape may record them so that steps can take what they gave from earlier steps.

import type { BlockRow, Tensor } from '../../gpu/tensor.ts';

/** Records rows of blocks, each of which begins with the tokens of the one before. `probe`: records the input of the first block as its attention gets it. */
export function runBlocks(rows: readonly BlockRow[], probe?: () => Tensor): void {
  const reuse = rows[0]!.changed[0]!.tape?.reuse;
  if (reuse) return reuse.blocks(rows, probe);
  for (const { enter, blocks } of rows) {
    enter?.();
    for (const run of blocks) run();
  }
}
