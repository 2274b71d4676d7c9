// WanTransformer3DModel: the patches of all frames of a clip attend to each other, then to a text, and in some models to an image. One network
// makes the modulation of all blocks from the time step, or from the time steps of single frames.

import type { Tensor } from '../../../gpu/tensor.ts';
import { addRows } from '../../../kernels/add-rows.ts';
import { addTable } from '../../../kernels/add-table.ts';
import type { Columns } from '../../../kernels/columns.ts';
import { copy } from '../../../kernels/copy-rows.ts';
import { gatedAdd } from '../../../kernels/gated-add.ts';
import { divideTokens } from '../../../kernels/gather-tokens.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear } from '../../../kernels/matmul.ts';
import { patchify, unpatchify } from '../../../kernels/patchify.ts';
import { reshape } from '../../../kernels/reshape.ts';
import { affine } from '../../affine.ts';
import type { WeightTable } from '../../weights.ts';
import { runBlocks } from '../block-rows.ts';
import { modulated, singleModulation } from '../adaln-single.ts';
import type { TokenGrid } from '../../../kernels/attend-blocks.ts';
import { conditionAttention, ownAttention } from './normed-attention.ts';
import { numberEmbedding, perceptron } from '../number-embedding.ts';
import { PATCH, type WanConfig, type WanImageStates } from './wan-config.ts';

/** What tokens attend to beside each other, in the transformer's width; constant over all steps. */
export interface WanConditions {
  /** [clips, tokens, hidden] */
  text: Tensor;
  /** [1, tokens, hidden]; null: the model takes none. */
  image: Tensor | null;
}

export interface WanStep extends WanConditions {
  /** [clips · frames, height, width, inputs] */
  latents: Tensor;
  /** f32 [1, 1]: the time step, 0 … 1000, or of one clip [frames, 1]: that of each frame. */
  time: Tensor;
  /** [frames · height · width / 4, dims], of each clip */
  rotations: Tensor;
}

export interface Wan {
  /** States of the text [1, tokens, textDims] → [1, tokens, hidden] */
  conditionText(states: Tensor): Tensor;
  /** States of images [1, tokens, dims] → [1, tokens, hidden]; for models that take them. */
  conditionImage(states: Tensor): Tensor;
  /** → the velocity away from the clips, [clips · frames, height, width, channels] */
  forward(step: WanStep): Tensor;
}

const IMAGE_EPS = 1e-5;
const EMBEDDER = 'condition_embedder';

export function wan(config: WanConfig, weights: WeightTable): Wan {
  const { hidden, inputs, channels, textDims, timeDims, layers, eps } = config;
  const biased = { bias: true } as const;
  const embed = weights.matrix('patch_embedding.weight', hidden, PATCH * PATCH * inputs, {
    ...biased,
    stored: [inputs, 1, PATCH, PATCH],
  });
  const embedTime = numberEmbedding(weights, `${EMBEDDER}.time_embedder`, hidden, { waves: timeDims });
  const modulate = singleModulation(weights, hidden, `${EMBEDDER}.time_proj`);
  const conditionText = perceptron(
    weights,
    `${EMBEDDER}.text_embedder`,
    [hidden, textDims],
    biased,
    'gelu-tanh',
  );
  const conditionImage = config.image && imageEmbedding(weights, hidden, config.image);
  const blocks = Array.from({ length: layers }, (_, i) => block(config, weights, `blocks.${i}`));
  const table = weights.table('scale_shift_table', 2, hidden);
  const out = weights.matrix('proj_out.weight', PATCH * PATCH * channels, hidden, biased);
  weights.ignore(/\.norm_added_q\.weight$/); // queries of images are those of the text

  return {
    conditionText,
    conditionImage(states) {
      if (!conditionImage) throw new Error('the model takes no states of images');
      return conditionImage(states);
    },
    forward({ latents, time, text, image, rotations }) {
      const [frames, height, width] = latents.shape as [number, number, number]; // of all clips
      const clips = text.shape[0] as number;
      const perFrame = (height * width) / PATCH ** 2;
      const patches = patchify(latents, { size: PATCH, order: 'cpq' }); // [clips · frames, patches, 4 · inputs]
      const tokens = (frames / clips) * perFrame;
      const isTimed = time.rows({}) > 1; // frames, which a device then has whole
      const divided = divideTokens(latents, [tokens], isTimed ? perFrame : 1);
      const x = linear(divided.own(reshape(patches, [clips, tokens, patches.columns])), embed);
      const embedded = embedTime(isTimed ? divided.ownUnits(time) : time); // [1 or frames, hidden]
      const modulation = modulate(embedded); //                    [1 or frames, 6 · hidden]
      const grid = { frames: frames / clips, rows: height / PATCH, columns: width / PATCH };
      const given = { modulation, text, image, rotations: divided.own(rotations), grid };
      runBlocks([{ blocks: blocks.map((run) => () => run(x, given)), changed: [x] }], () => modulation);
      const m = addTable(embedded, table); //                      [1 or frames, 2 · hidden]: shift, scale
      const y = divided.all(linear(layernorm(x, null, eps, modulated(m, 0, hidden)), out));
      const ofFrames = reshape(y, [frames, perFrame, y.columns]);
      return unpatchify(ofFrames, { size: PATCH, order: 'pqc', height, width });
    },
  };
}

/** [1, tokens, dims] → [1, tokens, hidden] */
function imageEmbedding(weights: WeightTable, hidden: number, { dims, places }: WanImageStates) {
  const name = `${EMBEDDER}.image_embedder`;
  const positions = places === null ? null : weights.table(`${name}.pos_embed`, places, dims);
  const before = affine(weights, `${name}.norm1`, dims);
  const up = weights.matrix(`${name}.ff.net.0.proj.weight`, dims, dims, { bias: true });
  const down = weights.matrix(`${name}.ff.net.2.weight`, hidden, dims, { bias: true });
  const after = affine(weights, `${name}.norm2`, hidden);
  return (states: Tensor): Tensor => {
    const x = positions ? addRows(copy(states), positions) : states;
    const y = linear(layernorm(x, before, IMAGE_EPS), up, { activation: 'gelu' });
    return layernorm(linear(y, down), after, IMAGE_EPS);
  };
}

type BlockInputs = WanConditions & Pick<WanStep, 'rotations'> & { modulation: Tensor; grid: TokenGrid };

/** A block changes x in place. */
function block(config: WanConfig, weights: WeightTable, name: string) {
  const { hidden, eps, crossNorm } = config;
  const table = weights.table(`${name}.scale_shift_table`, 6, hidden);
  const attention = { ...config, biased: true, outBiased: true };
  const selfAttention = ownAttention(attention, weights, `${name}.attn1`);
  const norm = crossNorm ? affine(weights, `${name}.norm2`, hidden) : null;
  const crossAttention = conditionAttention(attention, weights, `${name}.attn2`, [
    ['to_k', 'to_v', 'norm_k'],
    ...(config.image ? [['add_k_proj', 'add_v_proj', 'norm_added_k'] as const] : []),
  ]);
  const [{ ffn }, divided] = weights.divide(config, 'ffn');
  const up = divided.matrix(`${name}.ffn.net.0.proj.weight`, ffn, hidden, { bias: true, split: 'columns' });
  const down = divided.matrix(`${name}.ffn.net.2.weight`, hidden, ffn, { bias: true, split: 'rows' });
  return (x: Tensor, { modulation, rotations, grid, text, image }: BlockInputs): void => {
    const m = addTable(modulation, table); //                      [1 or frames, 6 · hidden]
    const gate = (i: number): Columns => ({ x: m, first: i * hidden });
    const normed = layernorm(x, null, eps, modulated(m, 0, hidden));
    gatedAdd(selfAttention(normed, rotations, grid), gate(2), x);
    crossAttention(norm ? layernorm(x, norm, eps) : x, image ? [text, image] : [text], x);
    const y = layernorm(x, null, eps, modulated(m, 3 * hidden, hidden));
    gatedAdd(linear(linear(y, up, { activation: 'gelu-tanh' }), down), gate(5), x);
    x.tape!.cut();
  };
}
