// QwenImageTransformer2DModel: a text, the patches of an image, and those of reference images are streams that attend to each other
// in every block; text and images have weights of their own.

import type { Tensor } from '../../gpu/tensor.ts';
import { silu } from '../../kernels/activation.ts';
import type { Columns } from '../../kernels/columns.ts';
import { copy } from '../../kernels/copy-rows.ts';
import { divideTokens } from '../../kernels/gather-tokens.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear } from '../../kernels/matmul.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import type { WeightTable } from '../weights.ts';
import { runBlocks } from './block-rows.ts';
import { imageNames, jointAttention, streamBlock, textNames, type TimedStream } from './joint-block.ts';
import { numberEmbedding } from './number-embedding.ts';
import type { QwenImageConfig } from './qwen-image-config.ts';

const PATCH = 2;

/** Patches of a reference image [1, tokens, 4 · channels] and their rotations. */
export interface Reference {
  patches: Tensor;
  rotations: Tensor;
}

export interface QwenImageStep {
  /** Patches of the latents, [items, tokens, 4 · channels], channel by channel. */
  patches: Tensor;
  /** f32 [items, 1], 0 … 1000, and a 0 in the same shape for references that are not noised. */
  time: Tensor;
  zero: Tensor;
  /** The conditioned text, [items, tokens, hidden]. */
  text: Tensor;
  rotations: { text: Tensor; image: Tensor };
  references: readonly Reference[];
}

export interface QwenImage {
  /** States of the text [items, tokens, textDims] → [items, tokens, hidden]; constant over all steps. */
  condition(text: Tensor): Tensor;
  /** → the velocity away from the image, [items, tokens, 4 · channels] */
  forward(step: QwenImageStep): Tensor;
}

export function qwenImage(config: QwenImageConfig, weights: WeightTable): QwenImage {
  const { hidden, channels, textDims, eps } = config;
  const patchDims = PATCH * PATCH * channels;
  const biased = { bias: true } as const;
  const embedTime = numberEmbedding(weights, 'time_text_embed.timestep_embedder', hidden);
  const textNorm = weights.vector('txt_norm.weight', textDims);
  const embedText = weights.matrix('txt_in.weight', hidden, textDims, biased);
  const embedPatches = weights.matrix('img_in.weight', hidden, patchDims, biased);
  const [own, divided] = weights.divide(config, 'heads', 'ffn');
  const blocks = Array.from({ length: config.layers }, (_, i) =>
    block(own, divided, `transformer_blocks.${i}`, i === config.layers - 1),
  );
  const modulate = weights.matrix('norm_out.linear.weight', 2 * hidden, hidden, biased);
  const out = weights.matrix('proj_out.weight', patchDims, hidden, biased);

  return {
    condition: (text) => linear(rmsnorm(text, textNorm, eps), embedText),
    forward({ patches, time, zero, text, rotations, references }) {
      const t = silu(embedTime(time)); //                          [items, hidden]: all that is read of it
      const clean = references.length > 0 && config.cleanReferences ? silu(embedTime(zero)) : t;
      const all = [text, patches, ...references.map((one) => one.patches)];
      const divided = divideTokens(
        text,
        all.map(({ shape }) => shape[1] as number),
      );
      const { own } = divided;
      const words: TimedStream = { x: own(copy(text), 0), time: t, rotations: own(rotations.text, 0) };
      const embed = (x: Tensor, sequence: number): Tensor => linear(own(x, sequence), embedPatches);
      const image: TimedStream = { x: embed(patches, 1), time: t, rotations: own(rotations.image, 1) };
      const others = references.map((one, i): TimedStream => ({
        x: embed(one.patches, 2 + i),
        time: clean,
        rotations: own(one.rotations, 2 + i),
      }));
      const changed = [words, ...others, image].map(({ x }) => x);
      runBlocks([{ blocks: blocks.map((run) => () => run(words, image, others)), changed }]);
      const m = linear(t, modulate); //                            [items, 2 · hidden]: scale, shift
      const modulation = { scale: { x: m, first: 0 }, shift: { x: m, first: hidden } };
      return divided.all(linear(layernorm(image.x, null, eps, modulation), out), 1);
    },
  };
}

/** `isLast`: after the block only the image is read. */
function block(config: QwenImageConfig, weights: WeightTable, name: string, isLast: boolean) {
  const text = streamBlock(
    config,
    weights,
    textNames(name, { modulation: 'txt_mod.1', feedForward: 'txt_mlp' }),
  );
  const images = streamBlock(
    config,
    weights,
    imageNames(name, { modulation: 'img_mod.1', feedForward: 'img_mlp' }),
  );

  return (words: TimedStream, image: TimedStream, others: readonly TimedStream[]): void => {
    const streams = [words, image, ...others];
    const side = (i: number) => (i === 0 ? text : images);
    const atTimes = new Map<Tensor, Columns>(); // of images, most of which are at one time
    const projected = streams.map((stream, i) => {
      const known = i === 0 ? undefined : atTimes.get(stream.time);
      const modulation = known ?? side(i).modulate(stream.time);
      if (i > 0) atTimes.set(stream.time, modulation);
      return side(i).project(stream, modulation);
    });
    const attended = jointAttention(config, projected);
    streams.forEach((stream, i) => {
      if (!isLast || stream === image) side(i).absorb(stream, projected[i]!, attended[i]!);
    });
    image.x.tape!.cut();
  };
}
