// Blocks of diffusion transformers in which several sequences (a text, an image, reference images) have weights of their own and
// attend to each other: AdaLN-Zero before attention and before the feed-forward part (MMDiT; Qwen-Image, FLUX, FLUX.2, Chroma, Stable
// Diffusion 3).

import type { Tensor } from '../../gpu/tensor.ts';
import { attend } from '../../kernels/attend.ts';
import type { TokenGrid } from '../../kernels/attend-blocks.ts';
import type { Columns } from '../../kernels/columns.ts';
import { joinTokens, joinTokensInto, placeForTokens, takeTokens } from '../../kernels/copy-rows.ts';
import { gatedAdd } from '../../kernels/gated-add.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear, linearSwiglu } from '../../kernels/matmul.ts';
import { rotate } from '../../kernels/rotate.ts';
import type { WeightTable } from '../weights.ts';
import type { Heads } from './transformer-config.ts';

export interface JointShape extends Heads {
  ffn: number;
  /** Of the norms before attention and feed-forward. */
  eps: number;
  /** Of the RMSNorms of query and key heads. */
  headEps: number;
  /** Whether query and key heads have RMSNorms; left out: they have. */
  headNorm?: boolean;
  /** Whether the linear layers have no biases; left out: they have. */
  unbiased?: boolean;
  /** Whether the feed-forward part is SwiGLU with gate and value in one tensor; left out: it is a GELU by tanh. */
  swiglu?: boolean;
}

/** Names of the modules that give the heads of an attention. */
export interface HeadNames {
  query: string;
  key: string;
  value: string;
  /** RMSNorms of query and key heads, which are read where the heads have some. */
  queryNorm: string;
  keyNorm: string;
}

/** Names of the modules that one kind of sequence has in a block. */
export interface StreamNames extends HeadNames {
  /** Gives shift, scale and gate of attention, then those of the feed-forward part; left out: they come from outside of the block. */
  modulation?: string;
  out: string;
  up: string;
  down: string;
}

/** Names within a block in which families differ: of the modulation, and of the feed-forward part and its two matrices. */
interface OwnNames {
  modulation?: string;
  feedForward: string;
  up?: string;
  down?: string;
}

const ownNames = (
  block: string,
  { modulation, feedForward, up = 'net.0.proj', down = 'net.2' }: OwnNames,
): Pick<StreamNames, 'modulation' | 'up' | 'down'> => ({
  ...(modulation !== undefined && { modulation: `${block}.${modulation}` }),
  up: `${block}.${feedForward}.${up}`,
  down: `${block}.${feedForward}.${down}`,
});

/** Names of an attention's heads in diffusers. */
export const headNames = (attention: string): HeadNames => ({
  query: `${attention}.to_q`,
  key: `${attention}.to_k`,
  value: `${attention}.to_v`,
  queryNorm: `${attention}.norm_q`,
  keyNorm: `${attention}.norm_k`,
});

/** Names of an image's modules in diffusers. */
export const imageNames = (block: string, own: OwnNames): StreamNames => ({
  ...headNames(`${block}.attn`),
  out: `${block}.attn.to_out.0`,
  ...ownNames(block, own),
});

/** Names of a text's modules in diffusers. */
export const textNames = (block: string, own: OwnNames): StreamNames => ({
  query: `${block}.attn.add_q_proj`,
  key: `${block}.attn.add_k_proj`,
  value: `${block}.attn.add_v_proj`,
  queryNorm: `${block}.attn.norm_added_q`,
  keyNorm: `${block}.attn.norm_added_k`,
  out: `${block}.attn.to_add_out`,
  ...ownNames(block, own),
});

/** A sequence on its way through the blocks. */
export interface Stream {
  /** [items, tokens, hidden]; the blocks change it in place. */
  x: Tensor;
  /** [tokens, dims], cos and sin of each pair alternating; null: heads are not rotated. */
  rotations: Tensor | null;
}

/** A sequence in blocks that have the modules for their modulation. */
export interface TimedStream extends Stream {
  /** SiLU of the embedded time step, [items, hidden]; streams at one time hold one tensor. */
  time: Tensor;
}

/** The modulation of a stream in a block, and its queries, keys and values side by side, [items, tokens, 3 · hidden]. */
export interface Projected {
  modulation: Columns;
  qkv: Tensor;
}

export interface StreamBlock {
  /**
   * Shift, scale and gate at a time, 6 · hidden columns of each item; equal for all streams of a kind at that time. For blocks that have
   * the module.
   */
  modulate(time: Tensor): Columns;
  project(stream: Stream, modulation: Columns): Projected;
  /** Tokens as attention gets them, [items, tokens, hidden]. */
  normed(stream: Stream, modulation: Columns): Tensor;
  /** Adds what attention gave for the stream's tokens, [items, tokens, hidden], then the feed-forward part. */
  absorb(stream: Stream, projected: Projected, attended: Tensor): void;
}

export function streamBlock(shape: JointShape, weights: WeightTable, names: StreamNames): StreamBlock {
  const { hidden, heads, dims, ffn, eps, unbiased = false, swiglu = false } = shape;
  const bias = !unbiased;
  const { modulation: module } = names;
  const modulate =
    module === undefined ? null : weights.matrix(`${module}.weight`, 6 * hidden, hidden, { bias });
  const toHeads = headProjection(shape, weights, names);
  const out = weights.matrix(`${names.out}.weight`, hidden, heads * dims, { bias, split: 'rows' });
  const up = swiglu
    ? weights.halves(`${names.up}.weight`, ffn, hidden, { bias })
    : weights.matrix(`${names.up}.weight`, ffn, hidden, { bias, split: 'columns' });
  const down = weights.matrix(`${names.down}.weight`, hidden, ffn, { bias, split: 'rows' });

  const chunk = ({ x, first }: Columns, i: number): Columns => ({ x, first: first + i * hidden });
  const normed = (x: Tensor, m: Columns, i: number): Tensor =>
    layernorm(x, null, eps, { shift: chunk(m, i), scale: chunk(m, i + 1) });

  return {
    modulate: (time) => ({ x: linear(time, modulate!), first: 0 }),
    normed: ({ x }, modulation) => normed(x, modulation, 0),
    project({ x, rotations }, modulation) {
      return { modulation, qkv: toHeads(normed(x, modulation, 0), rotations) };
    },
    absorb({ x }, { modulation: m }, attended) {
      gatedAdd(linear(attended, out), chunk(m, 2), x);
      const y = normed(x, m, 3);
      const wide = swiglu ? linearSwiglu(y, up) : linear(y, up, { activation: 'gelu-tanh' }); // [items, tokens, ffn]
      gatedAdd(linear(wide, down), chunk(m, 5), x);
    },
  };
}

/** Queries, keys and values side by side, their heads normed and rotated; x [items, tokens, hidden] → [items, tokens, 3 · heads · dims] */
export function headProjection(
  { hidden, heads, dims, headEps, headNorm = true, unbiased = false }: JointShape,
  weights: WeightTable,
  { query, key, value, queryNorm, keyNorm }: HeadNames,
): (x: Tensor, rotations: Tensor | null) => Tensor {
  const weight = weights.stacked(
    [query, key, value].map((name) => ({ name: `${name}.weight`, rows: heads * dims })),
    hidden,
    { bias: !unbiased, split: 'columns' },
  );
  const norms = [queryNorm, keyNorm].map((name) =>
    headNorm ? { weight: weights.vector(`${name}.weight`, dims), eps: headEps } : undefined,
  );
  return (x, rotations) => {
    const qkv = linear(x, weight);
    norms.forEach((norm, i) => {
      const part = { x: qkv, first: i * heads * dims };
      rotate(part, rotations, { heads, dims, layout: 'interleaved', norm });
    });
    return qkv;
  };
}

/** Attention among the tokens of all streams, of which those of a clip may have a grid → the part of each stream, [items, tokens, heads · dims] */
export function jointAttention(
  { heads, dims }: Pick<JointShape, 'heads' | 'dims'>,
  streams: readonly Projected[],
  grid?: TokenGrid,
): Tensor[] {
  const all = streams.map(({ qkv }) => qkv).reduce((joined, next) => joinTokens(joined, next));
  const [q, k, v] = [0, 1, 2].map((i) => ({ x: all, first: i * heads * dims }));
  const y = attend(q!, k!, v!, { heads, dims, ...(grid && { grid }) });
  let first = 0;
  return streams.map(({ qkv }) => {
    const count = qkv.shape[1] as number;
    const part = takeTokens(y, first, count);
    first += count;
    return part;
  });
}

/** A sequence has its time where its modulation is not given; `grid`: that of a clip's tokens. */
export type MaybeTimed = Stream & Partial<TimedStream> & { grid?: TokenGrid };

export interface DoubleBlock {
  (words: MaybeTimed, patches: MaybeTimed, given?: { words: Columns; patches: Columns }): void;
  /** Tokens of the image as attention gets them, [items, tokens, hidden]. */
  probe(patches: MaybeTimed, given?: Columns): Tensor;
}

/** Both streams as one, which `enter` joins: those of the text come first. */
export function joinedStream(
  words: Stream,
  patches: Stream,
  rotations: Tensor | null,
): { both: Stream; enter(): void } {
  const both = { x: placeForTokens(words.x, patches.x), rotations };
  return { both, enter: () => joinTokensInto(words.x, patches.x, both.x) };
}

/** A block in which a text and an image have weights of their own. Modulation that is not given comes from modules of the block. */
export function doubleBlock(
  shape: JointShape,
  weights: WeightTable,
  names: { words: StreamNames; patches: StreamNames },
): DoubleBlock {
  const text = streamBlock(shape, weights, names.words);
  const image = streamBlock(shape, weights, names.patches);
  const run = (
    words: MaybeTimed,
    patches: MaybeTimed,
    given?: { words: Columns; patches: Columns },
  ): void => {
    const projected = [
      text.project(words, given?.words ?? text.modulate(words.time!)),
      image.project(patches, given?.patches ?? image.modulate(patches.time!)),
    ] as const;
    const first = words.x.shape[1] as number;
    const [ofWords, ofPatches] = jointAttention(shape, projected, patches.grid && { ...patches.grid, first });
    text.absorb(words, projected[0], ofWords!);
    image.absorb(patches, projected[1], ofPatches!);
    patches.x.tape!.cut();
  };
  const probe: DoubleBlock['probe'] = (patches, given) =>
    image.normed(patches, given ?? image.modulate(patches.time!));
  return Object.assign(run, { probe });
}
