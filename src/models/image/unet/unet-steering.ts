// What steers a UNet beside the text: the outputs of ControlNets, which are added to its own, and an image that it attends to.

import type { Operand } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';

/** Outputs of a ControlNet: one for each output that the UNet saves on the way down, and one for the middle. */
export interface Residuals {
  down: readonly Tensor[];
  mid: Tensor;
}

/** Outputs of one or more ControlNets, and how strongly each is added. */
export interface Control {
  residuals: readonly Residuals[];
  /** f32: 1, and the scale of each ControlNet. */
  scales: Operand;
  /** u32 [1], set to 1 if a sum is not finite. */
  notFinite: Operand;
}

/** An image to which cross-attentions attend beside the text (IP-Adapter). */
export interface ImagePrompt {
  /** Of each cross-attention, [batch, tokens, 2 · channels]. */
  keyValues: readonly Tensor[];
  /** f32: 1, and the scale of what the image adds. */
  scales: Operand;
  /** u32 [1], set to 1 if a sum is not finite. */
  notFinite: Operand;
}

/** What steers a UNet beside the text. */
export interface Steering {
  control?: Control | null;
  image?: ImagePrompt | null;
}

/** Adds the outputs of ControlNets to those that were saved, and to the middle's, which is returned. */
export function steer(middle: Tensor, skips: Tensor[], { residuals, scales, notFinite }: Control): Tensor {
  const sum = (x: Tensor, added: readonly Tensor[]): Tensor =>
    linearCombination([x, ...added], scales, notFinite);
  skips.forEach((skip, i) => {
    skips[i] = sum(
      skip,
      residuals.map(({ down }) => down[i]!),
    );
  });
  return sum(
    middle,
    residuals.map(({ mid }) => mid),
  );
}
