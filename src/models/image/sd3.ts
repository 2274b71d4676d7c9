// SD3Transformer2DModel, the MMDiT of Stable Diffusion 3 and 3.5: a text and the patches of an image have weights of their own and attend to
// each other; in some blocks of 3.5 medium (MMDiT-X) the image attends to itself as well. Positions of patches come from a stored table.

import type { Tape } from '../../gpu/tape.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { attend } from '../../kernels/attend.ts';
import type { Columns } from '../../kernels/columns.ts';
import { copy, joinRows, joinTokens } from '../../kernels/copy-rows.ts';
import { embedTokens } from '../../kernels/embed-tokens.ts';
import { gatedAdd } from '../../kernels/gated-add.ts';
import { divideTokens } from '../../kernels/gather-tokens.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import type { WeightTable } from '../weights.ts';
import { runBlocks } from './block-rows.ts';
import { finalModulation, timeAndText } from './flux.ts';
import {
  headNames,
  headProjection,
  imageNames,
  jointAttention,
  streamBlock,
  textNames,
  type TimedStream,
} from './joint-block.ts';
import type { SD3Config } from './sd3-config.ts';

const PATCH = 2;
/** Numbers of the sequences, where their tokens are divided. */
const [WORDS, IMAGE] = [0, 1];
const PLACES = 'pos_embed.pos_embed';
const TEXT = { modulation: 'norm1_context.linear', feedForward: 'ff_context' };

export interface SD3Step {
  /** Patches of the latents, [items, tokens, 4 · inputs], channel by channel. */
  patches: Tensor;
  /** Rows of the table of positions, [1, tokens, hidden]. */
  places: Tensor;
  /** f32 [items, …, 1]: the time step, 0 … 1000. */
  time: Tensor;
  /** The conditioned texts, [items, tokens, hidden]. */
  text: Tensor;
  /** Pooled states of the texts, [items, …, pooledDims]. */
  pooled: Tensor;
  /** Numbers of blocks that are left out; left out: none. */
  without?: ReadonlySet<number>;
}

export interface SD3 {
  /** States of texts [items, tokens, textDims] → [items, tokens, hidden]; constant over all steps. */
  condition(text: Tensor): Tensor;
  /** → the velocity away from the image, [items, tokens, 4 · channels], pixel by pixel */
  forward(step: SD3Step): Tensor;
}

export function sd3(config: SD3Config, weights: WeightTable): SD3 {
  const { hidden, channels, inputs, textDims, eps, layers } = config;
  const biased = { bias: true } as const;
  const embedPatches = weights.matrix('pos_embed.proj.weight', hidden, PATCH * PATCH * inputs, {
    ...biased,
    stored: [inputs, PATCH, PATCH],
  });
  weights.ignore(/^pos_embed\.pos_embed$/);
  const embedTime = timeAndText({ ...config, distilledGuidance: false }, weights);
  const embedText = weights.matrix('context_embedder.weight', hidden, textDims, biased);
  const [own, divided] = weights.divide(config, 'heads', 'ffn');
  const blocks = Array.from({ length: layers }, (_, i) =>
    (i === layers - 1 ? lastBlock : block)(own, divided, i),
  );
  const modulate = finalModulation(weights, hidden);
  const out = weights.matrix('proj_out.weight', PATCH * PATCH * channels, hidden, biased);

  return {
    condition: (text) => linear(text, embedText),
    forward({ patches, places, time: timestep, text, pooled, without }) {
      const [items, tokens] = patches.shape as [number, number, number];
      const time = embedTime({ time: timestep, guidance: null, pooled }); // [items, hidden]
      const placed = joinRows(Array<Tensor>(items).fill(places), [items, tokens]);
      const divided = divideTokens(text, [text.shape[1] as number, tokens]);
      const embedded = linearAdd(divided.own(patches, 1), embedPatches, divided.own(placed, 1));
      const image: TimedStream = { x: embedded, time, rotations: null };
      const words: TimedStream = { x: divided.own(copy(text), 0), time, rotations: null };
      const used = blocks.filter((_, i) => !without?.has(i));
      runBlocks([{ blocks: used.map((run) => () => run(words, image)), changed: [words.x, image.x] }]);
      return divided.all(linear(endNorm(image.x, linear(time, modulate), eps), out), 1);
    },
  };
}

/** The table of positions: ids of its rows, u32 [1, tokens] → [1, tokens, hidden]. A page of its own, read once for an image. */
export function sd3Places({ places, hidden }: SD3Config, weights: WeightTable) {
  const table = weights.router(PLACES, places ** 2, hidden); // rounding would move every patch
  weights.ignore(/^(?!pos_embed\.pos_embed$)/);
  return (tape: Tape, ids: Tensor): Tensor => embedTokens(tape, ids, table, null);
}

/** Rows of the table for an image of `rows` × `columns` patches, which has the places in the middle. */
export function sd3PlaceIds(
  { places }: Pick<SD3Config, 'places'>,
  { rows, columns }: { rows: number; columns: number },
): Uint32Array<ArrayBuffer> {
  const [top, left] = [rows, columns].map((count) => Math.floor((places - count) / 2)) as [number, number];
  return Uint32Array.from(
    { length: rows * columns },
    (_, i) => (top + Math.floor(i / columns)) * places + left + (i % columns),
  );
}

type Block = (words: TimedStream, image: TimedStream) => void;

function block(config: SD3Config, weights: WeightTable, i: number): Block {
  const name = `transformer_blocks.${i}`;
  const text = streamBlock(config, weights, textNames(name, TEXT));
  const ofPatches = imageBlock(config, weights, i);
  return (words, image) => {
    const modulation = ofPatches.modulate(image.time);
    const projected = [
      text.project(words, text.modulate(words.time)),
      ofPatches.project(image, modulation),
    ] as const;
    const [ofWords, ofImage] = jointAttention(config, projected);
    text.absorb(words, projected[0], ofWords!);
    ofPatches.absorb(image, projected[1], ofImage!);
    image.x.tape!.cut();
  };
}

/** The last block: the text gives keys and values, and is not read behind it. */
function lastBlock(config: SD3Config, weights: WeightTable, i: number): Block {
  const { hidden, heads, dims, eps } = config;
  const name = `transformer_blocks.${i}`;
  const modulate = finalModulation(weights, hidden, { bias: true }, `${name}.norm1_context`);
  const toHeads = headProjection(config, weights, textNames(name, TEXT));
  const ofPatches = imageBlock(config, weights, i);
  return (words, image) => {
    const text = toHeads(endNorm(words.x, linear(words.time, modulate), eps), null);
    const projected = ofPatches.project(image, ofPatches.modulate(image.time));
    const all = joinTokens(projected.qkv, text);
    const [q, k, v] = [projected.qkv, all, all].map((x, part) => ({ x, first: part * heads * dims }));
    const sequences = { queries: [IMAGE], keys: [IMAGE, WORDS] };
    ofPatches.absorb(image, projected, attend(q!, k!, v!, { heads, dims, sequences }));
    image.x.tape!.cut();
  };
}

/** A norm with a scale and a shift, [items, 2 · hidden], behind which a sequence ends. */
function endNorm(x: Tensor, m: Tensor, eps: number): Tensor {
  return layernorm(x, null, eps, { scale: { x: m, first: 0 }, shift: { x: m, first: m.columns / 2 } });
}

/** The image's part of a block; in a dual one it also attends to itself, with a shift, a scale and a gate of its own. */
function imageBlock(config: SD3Config, weights: WeightTable, i: number) {
  const { hidden, heads, dims, eps, dualLayers } = config;
  const name = `transformer_blocks.${i}`;
  const isDual = dualLayers.has(i);
  const modulate = weights.matrix(`${name}.norm1.linear.weight`, (isDual ? 9 : 6) * hidden, hidden, {
    bias: true,
  });
  const own = streamBlock(config, weights, imageNames(name, { feedForward: 'ff' }));
  if (!isDual) return { ...own, modulate: modulation };
  const toHeads = headProjection(config, weights, headNames(`${name}.attn2`));
  const out = weights.matrix(`${name}.attn2.to_out.0.weight`, hidden, heads * dims, {
    bias: true,
    split: 'rows',
  });

  function modulation(time: Tensor): Columns {
    return { x: linear(time, modulate), first: 0 };
  }
  return {
    ...own,
    modulate: modulation,
    project(image: TimedStream, m: Columns) {
      const projected = own.project(image, m);
      const [shift, scale, gate] = [6, 7, 8].map((chunk) => ({ x: m.x, first: chunk * hidden }));
      const qkv = toHeads(layernorm(image.x, null, eps, { shift: shift!, scale: scale! }), null);
      const [q, k, v] = [0, 1, 2].map((part) => ({ x: qkv, first: part * heads * dims }));
      // Both attentions read the sequence as it was before either was added.
      const sequences = { queries: [IMAGE], keys: [IMAGE] };
      gatedAdd(linear(attend(q!, k!, v!, { heads, dims, sequences }), out), gate!, image.x);
      return projected;
    },
  };
}
