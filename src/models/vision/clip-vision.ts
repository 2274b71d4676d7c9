// The vision encoder of CLIP: patches of an image and a token for the whole of it pass transformer layers.

import type { Operand, Tape } from '../../gpu/tape.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { joinTokens, takeRows, takeTokens } from '../../kernels/copy-rows.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linearCombination } from '../../kernels/linear-combination.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { affine } from '../affine.ts';
import { clipLayer } from '../text/clip/clip.ts';
import type { WeightTable } from '../weights.ts';
import type { ClipVisionConfig } from './clip-vision-config.ts';

export interface ClipVisionInput {
  /** [1, patches, 3 · patch²] */
  patches: Tensor;
  /** f32 [2]: ones. */
  ones: Operand;
  /** u32 [1], set to 1 if a value is not finite. */
  notFinite: Operand;
}

/** `projected`: the embedding of the image, [1, 1, projection]; `states`: those before the last layer, [1, 1 + patches, hidden]. */
export type ClipVisionOutput = 'projected' | 'states';

export type ClipVision = (tape: Tape, input: ClipVisionInput, wanted: ClipVisionOutput) => Tensor;

/** `projects`: whether the checkpoint has the projection, without which it gives states alone. */
export function clipVision(
  config: ClipVisionConfig,
  weights: WeightTable,
  { projects = true } = {},
): ClipVision {
  const { hidden, patch, side, eps, projection } = config;
  const name = 'vision_model.';
  const stored = [3, patch, patch];
  const count = (side / patch) ** 2;
  const whole = weights.vector(`${name}embeddings.class_embedding`, hidden);
  const embed = weights.matrix(`${name}embeddings.patch_embedding.weight`, hidden, 3 * patch ** 2, {
    stored,
  });
  const places = weights.table(`${name}embeddings.position_embedding.weight`, 1 + count, hidden);
  const before = affine(weights, `${name}pre_layrnorm`, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    clipLayer(config, weights, `${name}encoder.layers.${i}`, { causal: false }),
  );
  const after = affine(weights, `${name}post_layernorm`, hidden);
  const project = projects ? weights.matrix('visual_projection.weight', projection, hidden) : null;
  weights.ignore(/embeddings\.position_ids$/);

  return (tape, { patches, ones, notFinite }, wanted) => {
    const table = places.on(tape);
    const [token, place] = [whole.on(tape), table].map((rows) => takeRows(rows, 0, [1, 1]));
    const first = linearCombination([token!, place!], ones, notFinite); //      [1, 1, hidden]
    const others = linearAdd(patches, embed, takeRows(table, 1, [1, count])); // [1, patches, hidden]
    let x = layernorm(joinTokens(first, others), before, eps);
    for (const run of wanted === 'projected' ? layers : layers.slice(0, -1)) x = run(x);
    if (wanted === 'states') return x;
    if (!project) throw new Error('the encoder has no projection');
    return linear(layernorm(takeTokens(x, 0, 1), after, eps), project);
  };
}
