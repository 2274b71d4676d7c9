// Lumina2Transformer2DModel: patches of an image and tokens of its caption pass layers of their own, and then form one sequence.

import type { Tensor } from '../../gpu/tensor.ts';
import { silu } from '../../kernels/activation.ts';
import { joinTokens } from '../../kernels/copy-rows.ts';
import { divideTokens } from '../../kernels/gather-tokens.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear } from '../../kernels/matmul.ts';
import { patchify, unpatchify } from '../../kernels/patchify.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import type { WeightTable } from '../weights.ts';
import { runBlocks } from './block-rows.ts';
import type { Lumina2Config } from './lumina2-config.ts';
import { nextDitBlock } from './next-dit-block.ts';
import { numberEmbedding } from './number-embedding.ts';

const PATCHES = { size: 2, order: 'pqc' } as const;
const FINAL_EPS = 1e-6;

export interface Lumina2 {
  /** States of the caption [batch, tokens, captionDims] and its rotations → [batch, tokens, hidden]; constant over all steps. */
  condition(caption: Tensor, rotations: Tensor): Tensor;
  /**
   * Latents [batch, height, width, channels], time f32 [batch, 1] of 0 … 1, the conditioned caption, rotations of the image and of the
   * image with the caption behind → the velocity towards the image, [batch, height, width, channels]
   */
  forward(x: Tensor, time: Tensor, caption: Tensor, rotations: { image: Tensor; joint: Tensor }): Tensor;
}

export function lumina2(config: Lumina2Config, weights: WeightTable): Lumina2 {
  const { hidden, channels, captionDims, timeDims, eps } = config;
  const patchDims = PATCHES.size ** 2 * channels;
  const blocks = (name: string, count: number, modulated: boolean) =>
    Array.from({ length: count }, (_, i) => block(config, weights, `${name}.${i}`, modulated));
  const embedTime = numberEmbedding(weights, 'time_caption_embed.timestep_embedder', timeDims);
  const captionNorm = weights.vector('time_caption_embed.caption_embedder.0.weight', captionDims);
  const embedCaption = weights.matrix('time_caption_embed.caption_embedder.1.weight', hidden, captionDims, {
    bias: true,
  });
  const contextRefiners = blocks('context_refiner', config.refiners, false);
  const embedPatches = weights.matrix('x_embedder.weight', hidden, patchDims, { bias: true });
  const noiseRefiners = blocks('noise_refiner', config.refiners, true);
  const layers = blocks('layers', config.layers, true);
  const modulate = weights.matrix('norm_out.linear_1.weight', hidden, timeDims, { bias: true });
  const out = weights.matrix('norm_out.linear_2.weight', patchDims, hidden, { bias: true });

  return {
    condition(caption, rotations) {
      let y = linear(rmsnorm(caption, captionNorm, eps), embedCaption); // [batch, tokens, hidden]
      for (const run of contextRefiners) y = run(y, rotations, null);
      return y;
    },
    forward(x, time, caption, { image, joint }) {
      const [, height, width] = x.shape as [number, number, number];
      const t = silu(embedTime(time)); //                        [batch, timeDims]
      let y = linear(patchify(x, PATCHES), embedPatches); //     [batch, tokens, hidden]
      const tokens = y.shape[1] as number;
      const alone = divideTokens(x, [tokens]);
      y = alone.own(y);
      for (const run of noiseRefiners) y = run(y, alone.own(image), t);
      // Tokens stand in any order; those of the image come first, so that the last rows can be left out.
      const both = divideTokens(x, [tokens, caption.shape[1] as number]);
      const turns = both.own(joint);
      y = joinTokens(y, both.own(caption, 1));
      const [first] = layers;
      runBlocks(
        [{ blocks: layers.map((run) => () => void run(y, turns, t)), changed: [y] }],
        first && (() => first.probe(y, t)),
      );
      const scale = linear(t, modulate); //                      [batch, hidden]
      y = linear(layernorm(y, null, FINAL_EPS, { shift: null, scale }), out);
      return unpatchify(both.all(y, 0), { ...PATCHES, height, width });
    },
  };
}

function block(config: Lumina2Config, weights: WeightTable, name: string, modulated: boolean) {
  const [gate, down, up] = [1, 2, 3].map((i) => `${name}.feed_forward.linear_${i}`) as [
    string,
    string,
    string,
  ];
  const first = modulated ? `${name}.norm1.norm` : `${name}.norm1`;
  return nextDitBlock(config, weights, {
    attention: `${name}.attn`,
    norms: [first, `${name}.norm2`, `${name}.ffn_norm1`, `${name}.ffn_norm2`],
    gate,
    up,
    down,
    modulation: modulated ? `${name}.norm1.linear` : null,
  });
}
