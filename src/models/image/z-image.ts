// ZImageTransformer2DModel: patches of an image and tokens of its caption form one sequence; every block is normalized before and
// after, and its output is scaled by the time step.

import type { Tensor } from '../../gpu/tensor.ts';
import { silu } from '../../kernels/activation.ts';
import { fillTokens, joinTokens } from '../../kernels/copy-rows.ts';
import { divideTokens } from '../../kernels/gather-tokens.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear } from '../../kernels/matmul.ts';
import { patchify, unpatchify } from '../../kernels/patchify.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import type { WeightTable } from '../weights.ts';
import { runBlocks } from './block-rows.ts';
import { nextDitBlock } from './next-dit-block.ts';
import type { ZImageConfig } from './z-image-config.ts';
import { wavesOf } from './number-embedding.ts';
import { filledTokens } from './z-image-rope.ts';

const PATCH = 2;
const WAVES = 256;
const TIME_FFN = 1024;
const FINAL_EPS = 1e-6;

export interface ZImage {
  /**
   * States of the caption [batch, tokens, captionDims] and its rotations → [batch, padded tokens, hidden]; constant over all steps.
   */
  condition(caption: Tensor, rotations: Tensor): Tensor;
  /**
   * Latents [batch, height, width, channels], time f32 [batch, 1] of 0 … timeScale, the conditioned caption, rotations of the image
   * and of the joint sequence → the velocity away from the image, [batch, height, width, channels]
   */
  forward(x: Tensor, time: Tensor, caption: Tensor, rotations: { image: Tensor; joint: Tensor }): Tensor;
}

export function zImage(config: ZImageConfig, weights: WeightTable): ZImage {
  const { hidden, channels, captionDims, timeDims, eps } = config;
  const patchDims = PATCH * PATCH * channels;
  const blocks = (name: string, count: number, modulated: boolean) =>
    Array.from({ length: count }, (_, i) => block(config, weights, `${name}.${i}`, modulated));
  const embedTime = timeEmbedding(weights, timeDims);
  const captionNorm = weights.vector('cap_embedder.0.weight', captionDims);
  const embedCaption = weights.matrix('cap_embedder.1.weight', hidden, captionDims, { bias: true });
  const captionFill = weights.table('cap_pad_token', 1, hidden);
  const contextRefiners = blocks('context_refiner', config.refiners, false);
  const embedPatches = weights.matrix('all_x_embedder.2-1.weight', hidden, patchDims, { bias: true });
  const patchFill = weights.table('x_pad_token', 1, hidden);
  const noiseRefiners = blocks('noise_refiner', config.refiners, true);
  const layers = blocks('layers', config.layers, true);
  const finish = finalLayer(config, weights, 'all_final_layer.2-1', patchDims);

  return {
    condition(caption, rotations) {
      let y = linear(rmsnorm(caption, captionNorm, eps), embedCaption); // [batch, tokens, hidden]
      y = fillTokens(y, captionFill, filledTokens(tokensOf(y)));
      for (const run of contextRefiners) y = run(y, rotations, null);
      return y;
    },
    forward(x, time, caption, { image, joint }) {
      const [, height, width] = x.shape as number[];
      const t = embedTime(time); //                              [batch, timeDims]
      let y = linear(patchify(x, { size: PATCH, order: 'pqc' }), embedPatches); // [batch, tokens, hidden]
      y = fillTokens(y, patchFill, filledTokens(tokensOf(y)));
      const tokens = tokensOf(y);
      const alone = divideTokens(x, [tokens]);
      y = alone.own(y);
      for (const run of noiseRefiners) y = run(y, alone.own(image), t);
      const both = divideTokens(x, [tokens, tokensOf(caption)]);
      const turns = both.own(joint);
      y = joinTokens(y, both.own(caption, 1));
      const [first] = layers;
      runBlocks(
        [{ blocks: layers.map((run) => () => void run(y, turns, t)), changed: [y] }],
        first && (() => first.probe(y, t)),
      );
      return unpatchify(both.all(finish(y, t), 0), {
        size: PATCH,
        order: 'pqc',
        height: height!,
        width: width!,
      });
    },
  };
}

function block(config: ZImageConfig, weights: WeightTable, name: string, modulated: boolean) {
  const [gate, down, up] = [1, 2, 3].map((i) => `${name}.feed_forward.w${i}`) as [string, string, string];
  return nextDitBlock(config, weights, {
    attention: `${name}.attention`,
    norms: [`${name}.attention_norm1`, `${name}.attention_norm2`, `${name}.ffn_norm1`, `${name}.ffn_norm2`],
    gate,
    up,
    down,
    modulation: modulated ? `${name}.adaLN_modulation.0` : null,
  });
}

/** time f32 [batch, 1] → [batch, timeDims] */
function timeEmbedding(weights: WeightTable, timeDims: number) {
  const first = weights.matrix('t_embedder.mlp.0.weight', TIME_FFN, WAVES, { bias: true });
  const second = weights.matrix('t_embedder.mlp.2.weight', timeDims, TIME_FFN, { bias: true });
  return (time: Tensor): Tensor => {
    return linear(linear(wavesOf(time, WAVES), first, { activation: 'silu' }), second);
  };
}

function finalLayer({ hidden, timeDims }: ZImageConfig, weights: WeightTable, name: string, columns: number) {
  const adaLN = `${name}.adaLN_modulation.1`;
  const modulate = weights.matrix(`${adaLN}.weight`, hidden, timeDims, { bias: true });
  const out = weights.matrix(`${name}.linear.weight`, columns, hidden, { bias: true });
  return (x: Tensor, time: Tensor): Tensor => {
    const scale = linear(silu(time), modulate); //               [batch, hidden]
    return linear(layernorm(x, null, FINAL_EPS, { shift: null, scale }), out);
  };
}

function tokensOf(x: Tensor): number {
  return x.shape[1] as number;
}
