// Flux2Transformer2DModel: in the first blocks a text and the patches of images have weights of their own and attend to each other; in the
// others they are one sequence, and one matrix gives attention and feed-forward part. Blocks of a kind share their modulation.

import type { Tensor } from '../../gpu/tensor.ts';
import { silu } from '../../kernels/activation.ts';
import { attend } from '../../kernels/attend.ts';
import type { Columns } from '../../kernels/columns.ts';
import { copy, takeTokens } from '../../kernels/copy-rows.ts';
import { gatedAdd } from '../../kernels/gated-add.ts';
import { gatedConcat } from '../../kernels/gated-concat.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear } from '../../kernels/matmul.ts';
import { rotate } from '../../kernels/rotate.ts';
import type { WeightTable } from '../weights.ts';
import { runBlocks } from './block-rows.ts';
import { finalModulation } from './flux.ts';
import type { Flux2Config } from './flux2-config.ts';
import { doubleBlock, imageNames, joinedStream, textNames, type Stream } from './joint-block.ts';
import { numberEmbedding } from './number-embedding.ts';

/** Names of the matrices of a feed-forward part. */
const FEED_FORWARD = { up: 'linear_in', down: 'linear_out' };

export interface Flux2Step {
  /** Latents and behind them those of reference images, [1, tokens, channels]. */
  patches: Tensor;
  /** f32 [1, 1]: the time step, 0 … 1000. */
  time: Tensor;
  /** f32 [1, 1]: 1000 times the guidance scale; null: the model has no such input. */
  guidance: Tensor | null;
  /** The conditioned text, [1, tokens, hidden]. */
  text: Tensor;
  /** [tokens, dims], cos and sin of each pair alternating, for the text, the patches, and both one after the other. */
  rotations: { text: Tensor; image: Tensor; both: Tensor };
  /** Number of patches that are denoised; reference images follow them. */
  denoised: number;
}

export interface Flux2 {
  /** States of the text [1, tokens, textDims] → [1, tokens, hidden]; constant over all steps. */
  condition(text: Tensor): Tensor;
  /** → the velocity away from the image, [1, denoised, channels] */
  forward(step: Flux2Step): Tensor;
}

export function flux2(config: Flux2Config, weights: WeightTable): Flux2 {
  const { hidden, channels, textDims, eps, doubleBlocks, singleBlocks } = config;
  const embedTime = conditions(config, weights);
  const modulation = (name: string, parts: number) => {
    const matrix = weights.matrix(`${name}.linear.weight`, parts * hidden, hidden);
    return (time: Tensor): Columns => ({ x: linear(time, matrix), first: 0 });
  };
  const modulateImage = modulation('double_stream_modulation_img', 6);
  const modulateText = modulation('double_stream_modulation_txt', 6);
  const modulateBoth = modulation('single_stream_modulation', 3);
  const embedText = weights.matrix('context_embedder.weight', hidden, textDims);
  const embedPatches = weights.matrix('x_embedder.weight', hidden, channels);
  const [own, divided] = weights.divide(config, 'heads', 'ffn');
  const doubles = Array.from({ length: doubleBlocks }, (_, i) =>
    doubleBlock(own, divided, {
      words: textNames(`transformer_blocks.${i}`, { feedForward: 'ff_context', ...FEED_FORWARD }),
      patches: imageNames(`transformer_blocks.${i}`, { feedForward: 'ff', ...FEED_FORWARD }),
    }),
  );
  const singles = Array.from({ length: singleBlocks }, (_, i) =>
    singleBlock(own, divided, `single_transformer_blocks.${i}`),
  );
  const modulate = finalModulation(weights, hidden, { bias: false });
  const out = weights.matrix('proj_out.weight', channels, hidden);

  return {
    condition: (text) => linear(text, embedText),
    forward(step) {
      const { patches, text, rotations, denoised } = step;
      const time = embedTime(step); //                              [1, hidden]
      const words: Stream = { x: copy(text), rotations: rotations.text };
      const image: Stream = { x: linear(patches, embedPatches), rotations: rotations.image };
      const given = { words: modulateText(time), patches: modulateImage(time) }; // [1, 6 · hidden] each
      const tokens = words.x.shape[1] as number;
      const { both, enter } = joinedStream(words, image, rotations.both);
      const ofBoth = modulateBoth(time); //                         [1, 3 · hidden]: shift, scale, gate
      const [first] = doubles;
      runBlocks(
        [
          { blocks: doubles.map((run) => () => run(words, image, given)), changed: [words.x, image.x] },
          { enter, blocks: singles.map((run) => () => run(both, ofBoth)), changed: [both.x] },
        ],
        first && (() => first.probe(image, given.patches)),
      );
      const m = linear(time, modulate); //                          [1, 2 · hidden]: scale, shift
      const last = { scale: { x: m, first: 0 }, shift: { x: m, first: hidden } };
      return linear(layernorm(takeTokens(both.x, tokens, denoised), null, eps, last), out);
    },
  };
}

/** SiLU of the sum of the embedded time step and guidance scale, which is all that is read of it, [1, hidden] */
function conditions({ hidden, waves, distilledGuidance }: Flux2Config, weights: WeightTable) {
  const embedder = (part: string) =>
    numberEmbedding(weights, `time_guidance_embed.${part}`, hidden, { waves, bias: false });
  const ofTime = embedder('timestep_embedder');
  const ofGuidance = distilledGuidance ? embedder('guidance_embedder') : null;
  return ({ time, guidance }: Pick<Flux2Step, 'time' | 'guidance'>): Tensor => {
    const y = ofTime(time);
    return silu(ofGuidance ? ofGuidance(guidance!, y) : y);
  };
}

function singleBlock(config: Flux2Config, weights: WeightTable, name: string) {
  const { hidden, heads, dims, ffn, eps, headEps } = config;
  // Rows of queries, keys, values, gates and what is gated, in one tensor.
  const width = heads * dims;
  const wide = weights.matrix(`${name}.attn.to_qkv_mlp_proj.weight`, 3 * width + 2 * ffn, hidden, {
    split: 'columns',
    ranges: [width, width, width, ffn, ffn],
  });
  const norms = ['norm_q', 'norm_k'].map((part) => ({
    weight: weights.vector(`${name}.attn.${part}.weight`, dims),
    eps: headEps,
  }));
  const out = weights.matrix(`${name}.attn.to_out.weight`, hidden, width + ffn, {
    split: 'rows',
    ranges: [width, ffn],
  });

  return ({ x, rotations }: Stream, { x: m }: Columns): void => {
    const normed = layernorm(x, null, eps, { shift: { x: m, first: 0 }, scale: { x: m, first: hidden } });
    const y = linear(normed, wide); //                              [1, tokens, 3 · width + 2 · ffn]
    const [q, k, v, gate] = [0, 1, 2, 3].map((i) => ({ x: y, first: i * width }));
    rotate(q!, rotations, { heads, dims, layout: 'interleaved', norm: norms[0] });
    rotate(k!, rotations, { heads, dims, layout: 'interleaved', norm: norms[1] });
    const joined = gatedConcat(attend(q!, k!, v!, { heads, dims }), gate!, ffn); // [1, tokens, width + ffn]
    gatedAdd(linear(joined, out), { x: m, first: 2 * hidden }, x);
    x.tape!.cut();
  };
}
