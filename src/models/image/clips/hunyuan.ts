// HunyuanVideo15Transformer3DModel: the latents of all frames of a clip and a text are streams that attend to each other in every block. The text
// is refined by the time step first; states of an image and texts that are to be seen, read byte by byte, stand before it.

import type { Tensor } from '../../../gpu/tensor.ts';
import { silu } from '../../../kernels/activation.ts';
import { addTable } from '../../../kernels/add-table.ts';
import { attend } from '../../../kernels/attend.ts';
import { joinTokens } from '../../../kernels/copy-rows.ts';
import { gatedAdd } from '../../../kernels/gated-add.ts';
import { divideTokens } from '../../../kernels/gather-tokens.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear } from '../../../kernels/matmul.ts';
import { reshape } from '../../../kernels/reshape.ts';
import { resizeHeads } from '../../../kernels/resize-heads.ts';
import { affine } from '../../affine.ts';
import type { WeightTable } from '../../weights.ts';
import { runBlocks } from '../block-rows.ts';
import { doubleBlock, headNames, headProjection, imageNames, textNames } from '../joint-block.ts';
import { numberEmbedding, perceptron } from '../number-embedding.ts';
import type { HunyuanConfig } from './hunyuan-config.ts';

export interface HunyuanStep {
  /** [frames, height, width, inputs] */
  latents: Tensor;
  /** f32 [1, 1], the time step, 0 … 1000. */
  time: Tensor;
  /** f32 [1, 1], the time that the step leads to; null: it is not seen. */
  next: Tensor | null;
  /** States of the text without padding, [1, tokens, textDims], and their mean, [1, textDims]. */
  text: Tensor;
  mean: Tensor;
  /** Conditioned texts that are to be seen, [1, tokens, hidden]; null: none. */
  glyphs: Tensor | null;
  /** Conditioned states of an image, [1, tokens, hidden]; null: the clip is drawn from the text alone. */
  image: Tensor | null;
  /** [frames · height · width, dims] */
  rotations: Tensor;
}

export interface Hunyuan {
  /** States of texts that are to be seen [1, tokens, glyphDims] → [1, tokens, hidden]; constant over all steps. */
  conditionGlyphs(states: Tensor): Tensor;
  /** States of an image [1, tokens, imageDims] → [1, tokens, hidden]; constant over all steps. */
  conditionImage(states: Tensor): Tensor;
  /** → the velocity away from the clip, [frames, height, width, channels] */
  forward(step: HunyuanStep): Tensor;
}

/** Columns between the layers that read texts that are to be seen. */
const GLYPH_COLUMNS = 2048;
/** Epsilon of the norms in the projections of ByT5's and SigLIP's states. */
const OTHER_EPS = 1e-5;
/** Rows of the embedding of kinds of tokens. */
const KINDS = { text: 0, glyphs: 1, image: 2 } as const;
const KIND_COUNT = 3;

/** `seesImages`: whether clips are drawn from an image, too. */
export function hunyuan(
  config: HunyuanConfig,
  weights: WeightTable,
  { seesImages }: { seesImages: boolean },
): Hunyuan {
  const { hidden, channels, inputs, layers, eps } = config;
  const [own, divided] = weights.divide(config, 'heads', 'ffn');
  const biased = { bias: true } as const;
  const embed = weights.matrix('x_embedder.proj.weight', hidden, inputs, {
    ...biased,
    stored: [inputs, 1, 1, 1],
  });
  const embedTime = numberEmbedding(weights, 'time_embed.timestep_embedder', hidden);
  const embedNext =
    seesImages && config.seesNext ? numberEmbedding(weights, 'time_embed.timestep_embedder_r', hidden) : null;
  if (!embedNext) weights.ignore(/^time_embed\.timestep_embedder_r\./);
  const refine = textRefiner(config, weights, 'context_embedder');
  const project = glyphProjection(config, weights, 'context_embedder_2');
  const kinds = weights.table('cond_type_embed.weight', KIND_COUNT, hidden);
  const blocks = Array.from({ length: layers }, (_, i) => {
    const name = `transformer_blocks.${i}`;
    return doubleBlock(own, divided, {
      words: textNames(name, { modulation: 'norm1_context.linear', feedForward: 'ff_context' }),
      patches: imageNames(name, { modulation: 'norm1.linear', feedForward: 'ff' }),
    });
  });
  const modulate = weights.matrix('norm_out.linear.weight', 2 * hidden, hidden, biased);
  const out = weights.matrix('proj_out.weight', channels, hidden, biased);
  const show = seesImages ? imageProjection(config, weights, 'image_embedder') : null;
  if (!seesImages) weights.ignore(/^image_embedder\./);

  /** Adds the embedding of a kind of tokens. */
  const asKind = (x: Tensor, kind: number): Tensor =>
    resizeHeads({ x: addTable(x, kinds), first: kind * hidden }, { heads: 1, from: hidden, to: hidden });

  return {
    conditionGlyphs: (states) => asKind(project(states), KINDS.glyphs),
    conditionImage(states) {
      if (!show) throw new Error('the page was built for texts alone');
      return asKind(show(states), KINDS.image);
    },
    forward({ latents, time, next, text, mean, glyphs, image, rotations }) {
      const [frames, height, width] = latents.shape as [number, number, number];
      if (!embedNext !== !next) throw new Error('the next time is seen by some models, and by those always');
      const t = silu(embedTime(time, embedNext?.(next!))); //      [1, hidden]: all that is read of it
      const refined = asKind(refine(text, mean, time), KINDS.text);
      const all = [image, glyphs, refined].filter((x) => x !== null).reduce(joinTokens);
      const tokens = reshape(latents, [1, frames * height * width, inputs]);
      const divided = divideTokens(
        latents,
        [all, tokens].map(({ shape }) => shape[1] as number),
      );
      const words = { x: divided.own(all, 0), time: t, rotations: null };
      const grid = { frames, rows: height, columns: width };
      const x = linear(divided.own(tokens, 1), embed);
      const clip = { x, time: t, rotations: divided.own(rotations, 1), grid };
      const [first] = blocks;
      const changed = [words.x, clip.x];
      runBlocks(
        [{ blocks: blocks.map((run) => () => run(words, clip)), changed }],
        first && (() => first.probe(clip)),
      );
      const m = linear(t, modulate); //                            [1, 2 · hidden]: scale, shift
      const modulation = { scale: { x: m, first: 0 }, shift: { x: m, first: hidden } };
      const y = linear(layernorm(clip.x, null, eps, modulation), out);
      return reshape(divided.all(y, 1), [frames, height, width, channels]);
    },
  };
}

/** States of a text [1, tokens, textDims], their mean and the time step → [1, tokens, hidden] */
function textRefiner(config: HunyuanConfig, weights: WeightTable, name: string) {
  const { hidden, textDims, refinerLayers } = config;
  const embedTime = numberEmbedding(weights, `${name}.time_text_embed.timestep_embedder`, hidden);
  const embedMean = perceptron(weights, `${name}.time_text_embed.text_embedder`, [hidden, textDims]);
  const embed = weights.matrix(`${name}.proj_in.weight`, hidden, textDims, { bias: true });
  const blocks = Array.from({ length: refinerLayers }, (_, i) =>
    refinerBlock(config, weights, `${name}.token_refiner.refiner_blocks.${i}`),
  );
  return (text: Tensor, mean: Tensor, time: Tensor): Tensor => {
    const t = silu(embedTime(time, embedMean(mean)));
    const x = linear(text, embed);
    for (const run of blocks) run(x, t);
    return x;
  };
}

/** A block changes x in place; attention and feed-forward part have gates, which follow from `time`, [1, hidden]. */
function refinerBlock(config: HunyuanConfig, weights: WeightTable, name: string) {
  const { hidden, heads, dims, ffn, eps } = config;
  const [before, behind] = [1, 2].map((i) => affine(weights, `${name}.norm${i}`, hidden));
  const toHeads = headProjection({ ...config, headNorm: false }, weights, headNames(`${name}.attn`));
  const biased = { bias: true } as const;
  const out = weights.matrix(`${name}.attn.to_out.0.weight`, hidden, hidden, biased);
  const up = weights.matrix(`${name}.ff.net.0.proj.weight`, ffn, hidden, biased);
  const down = weights.matrix(`${name}.ff.net.2.weight`, hidden, ffn, biased);
  const toGates = weights.matrix(`${name}.norm_out.linear.weight`, 2 * hidden, hidden, biased);
  return (x: Tensor, time: Tensor): void => {
    const gates = linear(time, toGates);
    const qkv = toHeads(layernorm(x, before!, eps), null);
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: qkv, first: i * hidden }));
    gatedAdd(linear(attend(q!, k!, v!, { heads, dims, seesOwn: true }), out), { x: gates, first: 0 }, x);
    const wide = linear(layernorm(x, behind!, eps), up, { activation: 'silu' });
    gatedAdd(linear(wide, down), { x: gates, first: hidden }, x);
  };
}

/** [1, tokens, glyphDims] → [1, tokens, hidden] */
function glyphProjection({ hidden, glyphDims }: HunyuanConfig, weights: WeightTable, name: string) {
  const norm = affine(weights, `${name}.norm`, glyphDims);
  const first = weights.matrix(`${name}.linear_1.weight`, GLYPH_COLUMNS, glyphDims, { bias: true });
  const second = weights.matrix(`${name}.linear_2.weight`, GLYPH_COLUMNS, GLYPH_COLUMNS, { bias: true });
  const third = weights.matrix(`${name}.linear_3.weight`, hidden, GLYPH_COLUMNS, { bias: true });
  return (states: Tensor): Tensor => {
    const x = linear(layernorm(states, norm, OTHER_EPS), first, { activation: 'gelu' });
    return linear(linear(x, second, { activation: 'gelu' }), third);
  };
}

/** [1, tokens, imageDims] → [1, tokens, hidden] */
function imageProjection({ hidden, imageDims }: HunyuanConfig, weights: WeightTable, name: string) {
  const [before, behind] = [
    affine(weights, `${name}.norm_in`, imageDims),
    affine(weights, `${name}.norm_out`, hidden),
  ];
  const first = weights.matrix(`${name}.linear_1.weight`, imageDims, imageDims, { bias: true });
  const second = weights.matrix(`${name}.linear_2.weight`, hidden, imageDims, { bias: true });
  return (states: Tensor): Tensor => {
    const x = linear(layernorm(states, before, OTHER_EPS), first, { activation: 'gelu' });
    return layernorm(linear(x, second), behind, OTHER_EPS);
  };
}
