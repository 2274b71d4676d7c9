// What a network that enlarges images consists of: parts, each of which is computed whole or in strips of rows.

import type { Tensor } from '../../../gpu/tensor.ts';

export interface UpscalerPart {
  /** Rows of the result for each row of x: a power of two or its inverse, or 3. */
  rows: number;
  /** Rows of x, above and below those that a row of the result stands for, on which its value depends to the last bit. */
  reach: number;
  /** x [1, height, width, channels] → [1, rows · height, rows · width, channels'] */
  run(x: Tensor): Tensor;
}

/**
 * Rows that a 3×3 convolution reaches to either side. Its taps reach one; Winograd's tiles of 2 × 2 outputs round by the row behind it, too.
 */
export const CONV_REACH = 2;
