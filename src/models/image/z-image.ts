// ZImageTransformer2DModel: patches of an image and tokens of its caption form one sequence; every block is normalized before and
// after, and its output is scaled by the time step.

import type { Tensor } from '../../gpu/tensor.ts';
import { silu } from '../../kernels/activation.ts';
import { attend } from '../../kernels/attend.ts';
import type { Columns } from '../../kernels/columns.ts';
import { fillTokens, joinTokens } from '../../kernels/copy-rows.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear, linearSwiglu } from '../../kernels/matmul.ts';
import { patchify, unpatchify } from '../../kernels/patchify.ts';
import { rmsnormAdd } from '../../kernels/rmsnorm-add.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import type { WeightTable } from '../weights.ts';
import type { ZImageConfig } from './z-image-config.ts';
import { headNames, headProjection } from './joint-block.ts';
import { wavesOf } from './number-embedding.ts';
import { filledTokens } from './z-image-rope.ts';

const PATCH = 2;
const WAVES = 256;
const TIME_FFN = 1024;
const HEAD_EPS = 1e-5;
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
      for (const run of noiseRefiners) y = run(y, image, t);
      y = joinTokens(y, caption);
      for (const run of layers) y = run(y, joint, t);
      return unpatchify(finish(y, t), { size: PATCH, order: 'pqc', height: height!, width: width! });
    },
  };
}

/** x [batch, tokens, hidden], time [batch, timeDims] or null without modulation → x, changed in place */
function block(config: ZImageConfig, weights: WeightTable, name: string, modulated: boolean) {
  const { hidden, ffn, eps, timeDims } = config;
  const norm = (part: string) => weights.vector(`${name}.${part}.weight`, hidden);
  const attentionNorms = [norm('attention_norm1'), norm('attention_norm2')] as const;
  const ffnNorms = [norm('ffn_norm1'), norm('ffn_norm2')] as const;
  const attention = selfAttention(config, weights, `${name}.attention`);
  const gateUp = weights.gateUp(
    `${name}.feed_forward.w1.weight`,
    `${name}.feed_forward.w3.weight`,
    ffn,
    hidden,
  );
  const down = weights.matrix(`${name}.feed_forward.w2.weight`, hidden, ffn, { split: 'rows' });
  const adaLN = `${name}.adaLN_modulation.0`;
  const modulate = modulated ? weights.matrix(`${adaLN}.weight`, 4 * hidden, timeDims, { bias: true }) : null;

  return (x: Tensor, rotations: Tensor, time: Tensor | null): Tensor => {
    const m = modulate && linear(time!, modulate); //            [batch, 4 · hidden]: scale, gate, scale, gate
    const gate = (i: number): Columns | null => m && { x: m, first: i * hidden };
    const scale = (i: number) => (m ? { shift: null, scale: { x: m, first: i * hidden } } : undefined);
    const y = attention(rmsnorm(x, attentionNorms[0], eps, scale(0)), rotations);
    x = rmsnormAdd(y, attentionNorms[1], eps, gate(1), x);
    const z = linear(linearSwiglu(rmsnorm(x, ffnNorms[0], eps, scale(2)), gateUp), down);
    x = rmsnormAdd(z, ffnNorms[1], eps, gate(3), x);
    x.tape!.cut();
    return x;
  };
}

function selfAttention(config: ZImageConfig, weights: WeightTable, name: string) {
  const { hidden, heads, dims } = config;
  const toHeads = headProjection({ ...config, headEps: HEAD_EPS, unbiased: true }, weights, headNames(name));
  const out = weights.matrix(`${name}.to_out.0.weight`, hidden, hidden, { split: 'rows' });

  return (x: Tensor, rotations: Tensor): Tensor => {
    const y = toHeads(x, rotations); //                          [batch, tokens, 3 · hidden]
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * hidden }));
    return linear(attend(q!, k!, v!, { heads, dims }), out);
  };
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
