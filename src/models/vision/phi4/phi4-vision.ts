// The vision tower of Phi-4-multimodal: crops pass SigLIP's layers up to the one before the last, four neighbouring patches are averaged, rows
// that end lines stand between their cells, and two products make the rows of the language model.

import type { Tensor } from '../../../gpu/tensor.ts';
import { joinRows, takeRows } from '../../../kernels/copy-rows.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { mixRows } from '../../../kernels/mix-rows.ts';
import { reshape } from '../../../kernels/reshape.ts';
import type { Tower } from '../../media.ts';
import { clipLayer } from '../../text/clip/clip.ts';
import { inTurns, tilesAtOnce } from '../../tile-turns.ts';
import type { WeightTable } from '../../weights.ts';
import type { Phi4VisionConfig } from './phi4-config.ts';

const NAME = 'embed_tokens_extend.image_embed.';
const ENCODER = `${NAME}img_processor.`;

/**
 * Inputs: `patches` [crops, patches, 3 · patch²] of the whole image and of full crops; `cells` [cells, 4], the patches of each cell; `rows` [rows, 1],
 * cells in order, of full crops, then of cut ones, then the row that ends lines and the one before the whole image. Where there are cut crops: `cut`
 * [crops, patches, 3 · patch²], `counts` u32 [crops], of patches that are seen, `places` [patches, 1], `cutCells` [cells, 4]. Each list of indices
 * has `…Shares` beside it. → [1, rows, out]
 */
export function phi4Vision(config: Phi4VisionConfig, weights: WeightTable): Tower {
  const { side, patch, hidden, ffn, out, names } = config;
  const count = (side / patch) ** 2;
  const embed = weights.matrix(`${ENCODER}embeddings.patch_embedding.weight`, hidden, 3 * patch ** 2, {
    bias: true,
    stored: [3, patch, patch],
  });
  const table = weights.table(`${ENCODER}embeddings.position_embedding.weight`, count, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    clipLayer(config, weights, `${ENCODER}encoder.layers.${i}`, { causal: false }),
  );
  const line = weights.table(`${NAME}${names.line}`, 1, hidden, [1, 1, hidden]);
  const whole = weights.table(`${NAME}${names.whole}`, 1, hidden, [1, hidden]);
  const up = weights.matrix(`${NAME}${names.up}.weight`, out, hidden, { bias: true });
  const down = weights.matrix(`${NAME}${names.down}.weight`, out, out, { bias: true });
  // What follows the last layer that is run.
  weights.ignore(/\.img_processor\.(head|post_layernorm)\./);
  for (let i = config.layers; i < config.stored; i++)
    weights.ignore(new RegExp(String.raw`\.img_processor\.encoder\.layers\.${i}\.`));
  const atOnce = tilesAtOnce(count * Math.max(ffn, 3 * hidden));

  /** patches [crops, count, 3 · patch²], places [count, hidden] → cells of all crops, [crops · cells, hidden] */
  const encode = (patches: Tensor, places: Tensor, cells: Cells, counts?: Tensor): Tensor => {
    const [crops, tokens] = patches.shape as [number, number];
    const ofCrop = cells.sources.shape[0] as number;
    const pooled = inTurns(patches, atOnce, (some) => {
      const [now] = some.shape as [number];
      let x = linearAdd(
        some,
        embed,
        joinRows(
          Array.from({ length: now }, () => places),
          [now, tokens],
        ),
      );
      for (const run of layers) x = run(x, undefined, counts); // [crops, count, hidden]
      const means = Array.from({ length: now }, (_, i) =>
        mixRows(takeRows(x, i * tokens, [tokens]), cells.sources, cells.shares),
      );
      return joinRows(means, [now * ofCrop]);
    });
    return joinRows(pooled, [crops * ofCrop]);
  };

  return (inputs) => {
    const given = (name: string): Tensor => inputs[name]!;
    const mix = (x: Tensor, name: string): Tensor => mixRows(x, given(name), given(`${name}Shares`));
    const cellsOf = (name: string): Cells => ({ sources: given(name), shares: given(`${name}Shares`) });
    const { tape } = given('patches');
    const places = table.on(tape!);
    const parts = [encode(given('patches'), takeRows(places, 0, [count]), cellsOf('cells'))];
    if (inputs['cut'])
      parts.push(encode(inputs['cut'], mix(places, 'places'), cellsOf('cutCells'), given('counts')));
    const all = [...parts, line.on(tape!), whole.on(tape!)];
    const found = joinRows(all, [all.reduce((sum, part) => sum + part.rows({}), 0)]);
    const rows = mix(found, 'rows');
    const projected = linear(linear(rows, up, { activation: 'gelu' }), down);
    return [reshape(projected, [1, projected.shape[0] as number, out])];
  };
}

interface Cells {
  sources: Tensor;
  shares: Tensor;
}
