// FluxTransformer2DModel: in the first blocks a text and the patches of images have weights of their own and attend to each other; in the
// others they are one sequence, and attention and feed-forward part stand side by side.

import type { Tensor } from '../../gpu/tensor.ts';
import { silu } from '../../kernels/activation.ts';
import { copy, takeTokens } from '../../kernels/copy-rows.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear } from '../../kernels/matmul.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import type { WeightTable } from '../weights.ts';
import { runBlocks } from './block-rows.ts';
import { PATCH, type FluxConfig } from './flux-config.ts';
import { fluxDoubleBlock, fluxSingleBlock } from './flux-blocks.ts';
import { joinedStream, type TimedStream } from './joint-block.ts';
import { numberEmbedding, perceptron } from './number-embedding.ts';

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
  const embedTime = timeAndText(config, weights);
  const embedText = weights.matrix('context_embedder.weight', hidden, textDims, biased);
  const embedPatches = weights.matrix('x_embedder.weight', hidden, PATCH * PATCH * inputs, biased);
  const [own, divided] = weights.divide(config, 'heads', 'ffn');
  const doubles = Array.from({ length: doubleBlocks }, (_, i) =>
    fluxDoubleBlock(own, divided, `transformer_blocks.${i}`, true),
  );
  const singles = Array.from({ length: singleBlocks }, (_, i) =>
    fluxSingleBlock(own, divided, `single_transformer_blocks.${i}`, true),
  );
  const modulate = finalModulation(weights, hidden);
  const out = weights.matrix('proj_out.weight', PATCH * PATCH * channels, hidden, biased);

  return {
    condition: (text) => linear(text, embedText),
    forward(step) {
      const { patches, text, rotations, denoised } = step;
      const time = embedTime(step); //                              [1, hidden]
      const words: TimedStream = { x: copy(text), time, rotations: rotations.text };
      const image: TimedStream = { x: linear(patches, embedPatches), time, rotations: rotations.image };
      const tokens = words.x.shape[1] as number;
      const joined = joinedStream(words, image, rotations.both);
      const both: TimedStream = { ...joined.both, time };
      const [first] = doubles;
      runBlocks(
        [
          { blocks: doubles.map((run) => () => run(words, image)), changed: [words.x, image.x] },
          { enter: joined.enter, blocks: singles.map((run) => () => run(both)), changed: [both.x] },
        ],
        first && (() => first.probe(image)),
      );
      const m = linear(time, modulate); //                          [1, 2 · hidden]: scale, shift
      const modulation = { scale: { x: m, first: 0 }, shift: { x: m, first: hidden } };
      return linear(layernorm(takeTokens(both.x, tokens, denoised), null, eps, modulation), out);
    },
  };
}

/** Scale and shift of a norm behind which a sequence ends, which files with the original names hold in the other order: there they are matrices of their own. */
export function finalModulation(
  weights: WeightTable,
  hidden: number,
  options = { bias: true },
  norm = 'norm_out',
): Matrix {
  if (!weights.has(`${norm}.scale.weight`))
    return weights.matrix(`${norm}.linear.weight`, 2 * hidden, hidden, options);
  const parts = ['scale', 'shift'].map((part) => ({ name: `${norm}.${part}.weight`, rows: hidden }));
  return weights.stacked(parts, hidden, options);
}

/** SiLU of the sum of the embedded time step, guidance scale and pooled text, which is all that is read of it, [1, hidden] */
export function timeAndText(
  { hidden, pooledDims, distilledGuidance }: Pick<FluxConfig, 'hidden' | 'pooledDims' | 'distilledGuidance'>,
  weights: WeightTable,
) {
  const name = 'time_text_embed';
  const ofTime = numberEmbedding(weights, `${name}.timestep_embedder`, hidden);
  const ofGuidance = distilledGuidance ? numberEmbedding(weights, `${name}.guidance_embedder`, hidden) : null;
  const ofText = perceptron(weights, `${name}.text_embedder`, [hidden, pooledDims]);

  return ({ time, guidance, pooled }: Pick<FluxStep, 'time' | 'guidance' | 'pooled'>): Tensor => {
    const y = ofTime(time);
    return silu(ofText(pooled, ofGuidance ? ofGuidance(guidance!, y) : y));
  };
}
