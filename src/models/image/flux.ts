// FluxTransformer2DModel: in the first blocks a text and the patches of images have weights of their own and attend to each other; in the
// others they are one sequence, and attention and feed-forward part stand side by side.

import type { Tensor } from '../../gpu/tensor.ts';
import { silu } from '../../kernels/activation.ts';
import { attend } from '../../kernels/attend.ts';
import { concat } from '../../kernels/concat.ts';
import { copy, joinTokens, takeTokens } from '../../kernels/copy-rows.ts';
import { gatedAdd } from '../../kernels/gated-add.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import { rotate } from '../../kernels/rotate.ts';
import { timestepEmbedding } from '../../kernels/timestep-embedding.ts';
import type { WeightTable } from '../weights.ts';
import type { FluxConfig } from './flux-config.ts';
import { jointAttention, streamBlock, type Stream, type StreamNames } from './joint-block.ts';

const PATCH = 2;
const WAVES = 256;
const MAX_PERIOD = 10000;

export interface FluxStep {
  /** Patches of the input and behind them those of reference images, [1, tokens, 4 · inputs], channel by channel. */
  patches: Tensor;
  /** f32 [1, 1]: the time step, 0 … 1000. */
  time: Tensor;
  /** f32 [1, 1]: 1000 times the guidance scale; null: the model has no such input. */
  guidance: Tensor | null;
  /** The conditioned text, [1, tokens, hidden]. */
  text: Tensor;
  /** Pooled state of the text, [1, pooledDims]. */
  pooled: Tensor;
  /** [tokens, dims], cos and sin of each pair alternating, for the text, the patches, and both one after the other. */
  rotations: { text: Tensor; image: Tensor; both: Tensor };
  /** Number of patches that are denoised; reference images follow them. */
  denoised: number;
}

export interface Flux {
  /** States of the text [1, tokens, textDims] → [1, tokens, hidden]; constant over all steps. */
  condition(text: Tensor): Tensor;
  /** → the velocity away from the image, [1, denoised, 4 · channels] */
  forward(step: FluxStep): Tensor;
}

export function flux(config: FluxConfig, weights: WeightTable): Flux {
  const { hidden, channels, inputs, textDims, eps, doubleBlocks, singleBlocks } = config;
  const biased = { bias: true } as const;
  const embedTime = conditions(config, weights);
  const embedText = weights.matrix('context_embedder.weight', hidden, textDims, biased);
  const embedPatches = weights.matrix('x_embedder.weight', hidden, PATCH * PATCH * inputs, biased);
  const doubles = Array.from({ length: doubleBlocks }, (_, i) =>
    doubleBlock(config, weights, `transformer_blocks.${i}`),
  );
  const singles = Array.from({ length: singleBlocks }, (_, i) =>
    singleBlock(config, weights, `single_transformer_blocks.${i}`),
  );
  const modulate = finalModulation(weights, hidden);
  const out = weights.matrix('proj_out.weight', PATCH * PATCH * channels, hidden, biased);

  return {
    condition: (text) => linear(text, embedText),
    forward(step) {
      const { patches, text, rotations, denoised } = step;
      const time = embedTime(step); //                              [1, hidden]
      const words: Stream = { x: copy(text), time, rotations: rotations.text };
      const image: Stream = { x: linear(patches, embedPatches), time, rotations: rotations.image };
      for (const run of doubles) run(words, image);
      const tokens = words.x.shape[1] as number;
      const both: Stream = { x: joinTokens(words.x, image.x), time, rotations: rotations.both };
      for (const run of singles) run(both);
      const m = linear(time, modulate); //                          [1, 2 · hidden]: scale, shift
      const modulation = { scale: { x: m, first: 0 }, shift: { x: m, first: hidden } };
      return linear(layernorm(takeTokens(both.x, tokens, denoised), null, eps, modulation), out);
    },
  };
}

/** Scale and shift of the last norm, which files with the original names hold in the other order: there they are matrices of their own. */
export function finalModulation(weights: WeightTable, hidden: number, options = { bias: true }): Matrix {
  if (!weights.has('norm_out.scale.weight'))
    return weights.matrix('norm_out.linear.weight', 2 * hidden, hidden, options);
  const parts = ['scale', 'shift'].map((part) => ({ name: `norm_out.${part}.weight`, rows: hidden }));
  return weights.stacked(parts, hidden, options);
}

/** SiLU of the sum of the embedded time step, guidance scale and pooled text, which is all that is read of it, [1, hidden] */
function conditions({ hidden, pooledDims, distilledGuidance }: FluxConfig, weights: WeightTable) {
  const embedder = (part: string, k: number) => {
    const name = `time_text_embed.${part}`;
    const first = weights.matrix(`${name}.linear_1.weight`, hidden, k, { bias: true });
    const second = weights.matrix(`${name}.linear_2.weight`, hidden, hidden, { bias: true });
    return (x: Tensor, residual: Tensor | null): Tensor => {
      const wide = linear(x, first, { activation: 'silu' });
      return residual ? linearAdd(wide, second, residual) : linear(wide, second);
    };
  };
  const ofTime = embedder('timestep_embedder', WAVES);
  const ofGuidance = distilledGuidance ? embedder('guidance_embedder', WAVES) : null;
  const ofText = embedder('text_embedder', pooledDims);
  const waves = (x: Tensor): Tensor =>
    timestepEmbedding(x, WAVES, { flip: true, shift: 0, maxPeriod: MAX_PERIOD });

  return ({ time, guidance, pooled }: Pick<FluxStep, 'time' | 'guidance' | 'pooled'>): Tensor => {
    let y = ofTime(waves(time), null);
    if (ofGuidance) y = ofGuidance(waves(guidance!), y);
    return silu(ofText(pooled, y));
  };
}

function doubleBlock(config: FluxConfig, weights: WeightTable, name: string) {
  const text = streamBlock(config, weights, textNames(name));
  const image = streamBlock(config, weights, imageNames(name));
  return (words: Stream, patches: Stream): void => {
    const projected = [
      text.project(words, text.modulate(words.time)),
      image.project(patches, image.modulate(patches.time)),
    ] as const;
    const [ofWords, ofPatches] = jointAttention(config, projected);
    text.absorb(words, projected[0], ofWords!);
    image.absorb(patches, projected[1], ofPatches!);
    patches.x.tape!.cut();
  };
}

function singleBlock(config: FluxConfig, weights: WeightTable, name: string) {
  const { hidden, heads, dims, ffn, eps, headEps } = config;
  const biased = { bias: true, split: 'columns' } as const;
  const modulate = weights.matrix(`${name}.norm.linear.weight`, 3 * hidden, hidden, { bias: true });
  const qkv = weights.stacked(
    ['q', 'k', 'v'].map((part) => ({ name: `${name}.attn.to_${part}.weight`, rows: hidden })),
    hidden,
    biased,
  );
  const norms = ['norm_q', 'norm_k'].map((part) => ({
    weight: weights.vector(`${name}.attn.${part}.weight`, dims),
    eps: headEps,
  }));
  const up = weights.matrix(`${name}.proj_mlp.weight`, ffn, hidden, biased);
  const out = weights.matrix(`${name}.proj_out.weight`, hidden, hidden + ffn, { bias: true, split: 'rows' });

  return ({ x, time, rotations }: Stream): void => {
    const m = linear(time, modulate); //                            [1, 3 · hidden]: shift, scale, gate
    const normed = layernorm(x, null, eps, { shift: { x: m, first: 0 }, scale: { x: m, first: hidden } });
    const y = linear(normed, qkv); //                               [1, tokens, 3 · hidden]
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * hidden }));
    rotate(q!, rotations, { heads, dims, layout: 'interleaved', norm: norms[0] });
    rotate(k!, rotations, { heads, dims, layout: 'interleaved', norm: norms[1] });
    const wide = linear(normed, up, { activation: 'gelu-tanh' }); // [1, tokens, ffn]
    const joined = concat(attend(q!, k!, v!, { heads, dims }), wide);
    gatedAdd(linear(joined, out), { x: m, first: 2 * hidden }, x);
    x.tape!.cut();
  };
}

const imageNames = (name: string): StreamNames => ({
  modulation: `${name}.norm1.linear`,
  query: `${name}.attn.to_q`,
  key: `${name}.attn.to_k`,
  value: `${name}.attn.to_v`,
  out: `${name}.attn.to_out.0`,
  queryNorm: `${name}.attn.norm_q`,
  keyNorm: `${name}.attn.norm_k`,
  up: `${name}.ff.net.0.proj`,
  down: `${name}.ff.net.2`,
});

const textNames = (name: string): StreamNames => ({
  modulation: `${name}.norm1_context.linear`,
  query: `${name}.attn.add_q_proj`,
  key: `${name}.attn.add_k_proj`,
  value: `${name}.attn.add_v_proj`,
  out: `${name}.attn.to_add_out`,
  queryNorm: `${name}.attn.norm_added_q`,
  keyNorm: `${name}.attn.norm_added_k`,
  up: `${name}.ff_context.net.0.proj`,
  down: `${name}.ff_context.net.2`,
});
