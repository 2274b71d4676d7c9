// The vision tower of Llama 4: patches of a tile and a token for the whole of it, the last one, pass transformer layers that know columns and rows
// by learned positions and by rotation; cells of patches are merged, and three products make them rows for the language model.

import type { Tensor } from '../../../gpu/tensor.ts';
import { addRows } from '../../../kernels/add-rows.ts';
import { joinRows, joinTokens, repeatRow, takeRows, takeTokens } from '../../../kernels/copy-rows.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear } from '../../../kernels/matmul.ts';
import { patchify } from '../../../kernels/patchify.ts';
import { reshape } from '../../../kernels/reshape.ts';
import { affine } from '../../affine.ts';
import type { MediaInput, Tower } from '../../media.ts';
import { clipLayer } from '../../text/clip/clip.ts';
import { inTurns, tilesAtOnce } from '../../tile-turns.ts';
import type { WeightTable } from '../../weights.ts';
import type { Llama4VisionConfig } from './llama4-vision-config.ts';

const NAME = 'vision_model.';
/** Of torch's LayerNorm, whatever config.json says. */
const EPS = 1e-5;
const LAYER = {
  causal: false,
  layout: 'interleaved',
  names: { before: 'input_layernorm', between: 'post_attention_layernorm', out: 'o_proj' },
} as const;

/** Inputs: `patches` [tiles, patches, 3 · patch²], `rotations` [patches + 1, dims]. → rows tile by tile, cell by cell, [1, tiles · cells, out] */
export function llama4Vision(config: Llama4VisionConfig, weights: WeightTable): Tower {
  const { side, patch, hidden, ffn, merge } = config;
  const across = side / patch;
  const count = across ** 2;
  const embed = weights.matrix(`${NAME}patch_embedding.linear.weight`, hidden, 3 * patch ** 2);
  const token = weights.vector(`${NAME}class_embedding`, hidden);
  const places = weights.table(`${NAME}positional_embedding_vlm`, count + 1, hidden);
  const before = affine(weights, `${NAME}layernorm_pre`, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    clipLayer({ ...config, eps: EPS, activation: 'gelu' }, weights, `${NAME}model.layers.${i}`, LAYER),
  );
  const behind = affine(weights, `${NAME}layernorm_post`, hidden);
  const adapt = adapter(config, weights);
  const atOnce = tilesAtOnce((count + 1) * Math.max(ffn, 3 * hidden));

  const encode = (patches: Tensor, rotations: Tensor): Tensor => {
    const tiles = patches.shape[0] as number;
    const tape = patches.tape!;
    const tokens = reshape(repeatRow(token.on(tape), tiles), [tiles, 1, hidden]);
    const seen = addRows(joinTokens(linear(patches, embed), tokens), places.on(tape)); // [tiles, patches + 1, hidden]
    const x = layers.reduce((y, layer) => layer(y, rotations), layernorm(seen, before, EPS));
    return takeTokens(layernorm(x, behind, EPS), 0, count);
  };

  return ({ patches, rotations }) => {
    const rows = inTurns(patches!, atOnce, (some) => {
      const grid = takeRows(encode(some, rotations!), 0, [some.shape[0] as number, across, across]);
      return adapt(patchify(grid, { size: merge, order: 'pqc' }));
    });
    return [joinRows(rows, [1, ((patches!.shape[0] as number) * count) / merge ** 2])];
  };
}

/** [tiles, cells, merge² · hidden] → [tiles, cells, out] */
function adapter({ ffn, adapted, out }: Llama4VisionConfig, weights: WeightTable) {
  const first = weights.matrix(`${NAME}vision_adapter.mlp.fc1.weight`, adapted, ffn);
  const second = weights.matrix(`${NAME}vision_adapter.mlp.fc2.weight`, adapted, adapted);
  const project = weights.matrix('multi_modal_projector.linear_1.weight', out, adapted);
  return (cells: Tensor): Tensor =>
    linear(linear(linear(cells, first, { activation: 'gelu' }), second, { activation: 'gelu' }), project);
}

/**
 * [patches + 1, dims]: pairs turn by the column, counted from 1, in the first half of a head and by the row in the second; the token for the whole does
 * not turn. Angles are computed in f32.
 */
export function llama4Rotations({ side, patch, hidden, heads, theta }: Llama4VisionConfig): MediaInput {
  const [across, dims] = [side / patch, hidden / heads];
  const rates = Float32Array.from({ length: dims / 4 }, (_, i) => 1 / Math.fround(theta ** ((4 * i) / dims)));
  const data = new Float32Array((across ** 2 + 1) * dims);
  let at = 0;
  for (let row = 1; row <= across; row++)
    for (let column = 1; column <= across; column++)
      for (const place of [column, row])
        for (const rate of rates) {
          const angle = Math.fround(place * rate);
          data[at++] = Math.cos(angle);
          data[at++] = Math.sin(angle);
        }
  for (; at < data.length; at += 2) data[at] = 1;
  return { shape: [across ** 2 + 1, dims], data };
}
