// ChromaTransformer2DModel: the blocks of FLUX.1, whose modulation one small network gives for all of them at once, from the time step
// and from the place that a vector has among all vectors of modulation.

import type { Tensor } from '../../gpu/tensor.ts';
import type { Columns } from '../../kernels/columns.ts';
import { concat } from '../../kernels/concat.ts';
import { copy, repeatRow, takeTokens } from '../../kernels/copy-rows.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { reshape } from '../../kernels/reshape.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import type { WeightTable } from '../weights.ts';
import { runBlocks } from './block-rows.ts';
import type { ChromaConfig } from './chroma-config.ts';
import { fluxDoubleBlock, fluxSingleBlock } from './flux-blocks.ts';
import { joinedStream, type Stream } from './joint-block.ts';
import { wavesOf } from './number-embedding.ts';

const PATCH = 2;
const MAX_PERIOD = 10000;
/** Of the network's norms: the precision of f32, which is torch's default. */
const APPROXIMATOR_EPS = 2 ** -23;
/** Vectors of modulation in a block of each kind, and of the last norm. */
const DOUBLE = 6;
const SINGLE = 3;
const LAST = 2;
/** Factor on the places of vectors. */
const PLACE_SCALE = 1000;

export interface ChromaStep {
  /** Patches of the latents, [1, tokens, 4 · channels], channel by channel. */
  patches: Tensor;
  /** The conditioned text, [1, tokens, hidden]. */
  text: Tensor;
  /** [tokens, dims], cos and sin of each pair alternating, for the text, the patches, and both one after the other. */
  rotations: { text: Tensor; image: Tensor; both: Tensor };
  /** What `modulate` gives for the time step. */
  modulation: Tensor;
}

export interface Chroma {
  /** States of the text [1, tokens, textDims] → [1, tokens, hidden]; constant over all steps. */
  condition(text: Tensor): Tensor;
  /**
   * time f32 [1, 1] of 0 … 1000; places [vectors, columns], as `chromaPlaces` gives them → all vectors of modulation one after the other,
   * [1, vectors · hidden]
   */
  modulate(time: Tensor, places: Tensor): Tensor;
  /** → the velocity away from the image, [1, tokens, 4 · channels] */
  forward(step: ChromaStep): Tensor;
}

type Blocks = Pick<ChromaConfig, 'doubleBlocks' | 'singleBlocks'>;

/** Number of vectors of modulation. */
function vectorsOf({ doubleBlocks, singleBlocks }: Blocks): number {
  return SINGLE * singleBlocks + 2 * DOUBLE * doubleBlocks + LAST;
}

export function chroma(config: ChromaConfig, weights: WeightTable): Chroma {
  const { hidden, channels, textDims, eps, doubleBlocks, singleBlocks } = config;
  const patchDims = PATCH * PATCH * channels;
  const biased = { bias: true } as const;
  const modulate = approximator(config, weights, 'distilled_guidance_layer');
  const embedText = weights.matrix('context_embedder.weight', hidden, textDims, biased);
  const embedPatches = weights.matrix('x_embedder.weight', hidden, patchDims, biased);
  const [own, divided] = weights.divide(config, 'heads', 'ffn');
  const doubles = Array.from({ length: doubleBlocks }, (_, i) =>
    fluxDoubleBlock(own, divided, `transformer_blocks.${i}`, false),
  );
  const singles = Array.from({ length: singleBlocks }, (_, i) =>
    fluxSingleBlock(own, divided, `single_transformer_blocks.${i}`, false),
  );
  const out = weights.matrix('proj_out.weight', patchDims, hidden, biased);
  // Vectors of the single blocks come first, then those of images and of texts in the double blocks, then those of the last norm.
  const ofImages = SINGLE * singleBlocks;
  const ofTexts = ofImages + DOUBLE * doubleBlocks;
  const last = ofTexts + DOUBLE * doubleBlocks;

  return {
    condition: (text) => linear(text, embedText),
    modulate,
    forward({ patches, text, rotations, modulation }) {
      const vector = (i: number): Columns => ({ x: modulation, first: i * hidden });
      const words: Stream = { x: copy(text), rotations: rotations.text };
      const image: Stream = { x: linear(patches, embedPatches), rotations: rotations.image };
      const [tokens, count] = [words.x, image.x].map(({ shape }) => shape[1] as number) as [number, number];
      const { both, enter } = joinedStream(words, image, rotations.both);
      const given = (i: number) => ({
        words: vector(ofTexts + DOUBLE * i),
        patches: vector(ofImages + DOUBLE * i),
      });
      const [first] = doubles;
      runBlocks(
        [
          { blocks: doubles.map((run, i) => () => run(words, image, given(i))), changed: [words.x, image.x] },
          { enter, blocks: singles.map((run, i) => () => run(both, vector(SINGLE * i))), changed: [both.x] },
        ],
        first && (() => first.probe(image, given(0).patches)),
      );
      const changed = { shift: vector(last), scale: vector(last + 1) };
      return linear(layernorm(takeTokens(both.x, tokens, count), null, eps, changed), out);
    },
  };
}

function approximator(config: ChromaConfig, weights: WeightTable, name: string): Chroma['modulate'] {
  const { hidden, approximator: own } = config;
  const biased = { bias: true } as const;
  const enter = weights.matrix(`${name}.in_proj.weight`, own.hidden, own.columns, biased);
  const layers = Array.from({ length: own.layers }, (_, i) => ({
    norm: weights.vector(`${name}.norms.${i}.weight`, own.hidden),
    first: weights.matrix(`${name}.layers.${i}.linear_1.weight`, own.hidden, own.hidden, biased),
    second: weights.matrix(`${name}.layers.${i}.linear_2.weight`, own.hidden, own.hidden, biased),
  }));
  const leave = weights.matrix(`${name}.out_proj.weight`, hidden, own.hidden, biased);
  const vectors = vectorsOf(config);

  return (time, places) => {
    const turned = wavesOf(time, own.columns / 4); //                      [1, columns / 4]
    const x = linear(concat(repeatRow(turned, vectors), places), enter); // [vectors, own.hidden]
    for (const { norm, first, second } of layers) {
      const wide = linear(rmsnorm(x, norm, APPROXIMATOR_EPS), first, { activation: 'silu' });
      linearAdd(wide, second, x);
      x.tape!.cut();
    }
    return reshape(linear(x, leave), [1, vectors * hidden]);
  };
}

/**
 * Returns the part of the network's input that does not depend on the time, a row for each vector of modulation: sines and cosines of a
 * guidance scale of 0, and those of the vector's place. Angles are rounded to f32, with which the network was trained; for places near
 * the last one that is a hundredth of a turn.
 */
export function chromaPlaces(config: ChromaConfig): {
  rows: number;
  columns: number;
  values: Float32Array<ArrayBuffer>;
} {
  const rows = vectorsOf(config);
  const ofGuidance = config.approximator.columns / 4;
  const half = config.approximator.columns / 4;
  const columns = ofGuidance + 2 * half;
  const values = new Float32Array(rows * columns);
  const log = Math.fround(-Math.log(MAX_PERIOD));
  for (let row = 0; row < rows; row++) {
    const at = row * columns;
    values.fill(1, at, at + ofGuidance / 2); // cosines of 0; sines are 0
    for (let i = 0; i < half; i++) {
      const rate = Math.fround(Math.exp(Math.fround(Math.fround(log * i) / half)));
      const angle = Math.fround(PLACE_SCALE * row * rate);
      values[at + ofGuidance + i] = Math.cos(angle);
      values[at + ofGuidance + half + i] = Math.sin(angle);
    }
  }
  return { rows, columns, values };
}
