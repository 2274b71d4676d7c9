// PixArtTransformer2DModel: patches of an image attend to each other and to a text; one network makes the modulation of all blocks from the
// time step, and in some models from the image's size as well.

import type { Tensor } from '../../gpu/tensor.ts';
import { addTable } from '../../kernels/add-table.ts';
import { attend } from '../../kernels/attend.ts';
import type { Columns } from '../../kernels/columns.ts';
import { concat } from '../../kernels/concat.ts';
import { joinRows, repeatRow } from '../../kernels/copy-rows.ts';
import { gatedAdd } from '../../kernels/gated-add.ts';
import { divideTokens } from '../../kernels/gather-tokens.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { reshape } from '../../kernels/reshape.ts';
import type { WeightTable } from '../weights.ts';
import { runBlocks } from './block-rows.ts';
import { modulated, singleModulation } from './adaln-single.ts';
import { numberEmbedding } from './number-embedding.ts';
import { PATCH, type PixArtConfig } from './pixart-config.ts';
import { projections } from './projections.ts';

export interface PixArtStep {
  /** Patches of the latents, [items, tokens, 4 · channels], channel by channel. */
  patches: Tensor;
  /** Positions of the patches, [1, tokens, hidden]. */
  places: Tensor;
  /** f32 [items, 1], or [1, 1] for all items: the time step, 0 … 1000. */
  time: Tensor;
  /** The size of the image in pixels; null: the model has no such input. */
  size: SizeInputs | null;
  /** The conditioned texts, [items, tokens, hidden]. */
  text: Tensor;
  /** u32 [items]: tokens of each text; others are not seen. */
  counts: Tensor;
}

export interface SizeInputs {
  /** f32 [2, 1]: height and width. */
  sides: Tensor;
  /** f32 [1, 1]: height ÷ width. */
  ratio: Tensor;
}

export interface PixArt {
  /** States of texts [items, tokens, textDims] → [items, tokens, hidden]; constant over all steps. */
  condition(text: Tensor): Tensor;
  /** → [items, tokens, 4 · outputs], pixel by pixel */
  forward(step: PixArtStep): Tensor;
}

const END_EPS = 1e-6;
/** Factor on the width of the feed-forward part. */
const WIDER = 4;

export function pixart(config: PixArtConfig, weights: WeightTable): PixArt {
  const { hidden, channels, outputs, textDims, layers, takesSize } = config;
  const biased = { bias: true } as const;
  const embed = weights.matrix('pos_embed.proj.weight', hidden, PATCH * PATCH * channels, {
    ...biased,
    stored: [channels, PATCH, PATCH],
  });
  weights.ignore(/^pos_embed\.pos_embed$/); // computed here, as diffusers does
  const embedSize = takesSize ? sizeEmbedding(weights, hidden) : null;
  const embedTime = numberEmbedding(weights, 'adaln_single.emb.timestep_embedder', hidden);
  const modulate = singleModulation(weights, hidden, 'adaln_single.linear');
  const textUp = weights.matrix('caption_projection.linear_1.weight', hidden, textDims, biased);
  const textOut = weights.matrix('caption_projection.linear_2.weight', hidden, hidden, biased);
  const blocks = Array.from({ length: layers }, (_, i) => block(config, weights, `transformer_blocks.${i}`));
  const table = weights.table('scale_shift_table', 2, hidden);
  const out = weights.matrix('proj_out.weight', PATCH * PATCH * outputs, hidden, biased);

  return {
    condition: (text) => linear(linear(text, textUp, { activation: 'gelu-tanh' }), textOut),
    forward({ patches, places, time, size, text, counts }) {
      const [items, tokens] = patches.shape as [number, number, number];
      const sizes = embedSize && size ? repeatRow(embedSize(size), time.rows({})) : null;
      const embedded = embedTime(time, sizes); //                  [items or 1, hidden]
      const modulation = modulate(embedded); //                    [items or 1, 6 · hidden]
      const placed = joinRows(Array<Tensor>(items).fill(places), [items, tokens]);
      const divided = divideTokens(patches, [tokens]);
      const x = linearAdd(divided.own(patches), embed, divided.own(placed)); // [items, tokens, hidden]
      runBlocks([{ blocks: blocks.map((run) => () => run(x, modulation, text, counts)), changed: [x] }]);
      const m = addTable(embedded, table); //                      [items or 1, 2 · hidden]: shift, scale
      return divided.all(linear(layernorm(x, null, END_EPS, modulated(m, 0, hidden)), out));
    },
  };
}

/** → [1, hidden], a third of it by each side and by their ratio */
function sizeEmbedding(weights: WeightTable, hidden: number) {
  const third = hidden / 3;
  const embedSide = numberEmbedding(weights, 'adaln_single.emb.resolution_embedder', third);
  const embedRatio = numberEmbedding(weights, 'adaln_single.emb.aspect_ratio_embedder', third);
  return ({ sides, ratio }: SizeInputs): Tensor =>
    concat(reshape(embedSide(sides), [1, 2 * third]), embedRatio(ratio));
}

/** A block changes x in place. */
type Block = (x: Tensor, modulation: Tensor, text: Tensor, counts: Tensor) => void;

function block(config: PixArtConfig, weights: WeightTable, name: string): Block {
  const { hidden, eps } = config;
  const biased = { bias: true } as const;
  const table = weights.table(`${name}.scale_shift_table`, 6, hidden);
  const [own, divided] = weights.divide({ ...config, ffn: WIDER * hidden }, 'heads', 'ffn');
  const selfAttention = ownAttention(own, divided, `${name}.attn1`);
  const crossAttention = textAttention(own, divided, `${name}.attn2`);
  const { ffn } = own;
  const up = divided.matrix(`${name}.ff.net.0.proj.weight`, ffn, hidden, { ...biased, split: 'columns' });
  const down = divided.matrix(`${name}.ff.net.2.weight`, hidden, ffn, { ...biased, split: 'rows' });
  return (x, modulation, text, counts) => {
    const m = addTable(modulation, table); //                      [items or 1, 6 · hidden]
    const gate = (i: number): Columns => ({ x: m, first: i * hidden });
    gatedAdd(selfAttention(layernorm(x, null, eps, modulated(m, 0, hidden))), gate(2), x);
    crossAttention(x, text, counts);
    const y = layernorm(x, null, eps, modulated(m, 3 * hidden, hidden));
    gatedAdd(linear(linear(y, up, { activation: 'gelu-tanh' }), down), gate(5), x);
    x.tape!.cut();
  };
}

/** x [items, tokens, hidden] → the same shape */
function ownAttention(config: PixArtConfig, weights: WeightTable, name: string) {
  const { hidden, heads, dims, biased: bias } = config;
  const width = heads * dims;
  const qkv = projections(weights, name, 'qkv', [width, hidden], { bias, split: 'columns' });
  const out = weights.matrix(`${name}.to_out.0.weight`, hidden, width, { bias: true, split: 'rows' });
  return (x: Tensor): Tensor => {
    const y = linear(x, qkv); //                                   [items, tokens, 3 · heads · dims]
    const [q, k, v] = [0, 1, 2].map((part) => ({ x: y, first: part * width }));
    return linear(attend(q!, k!, v!, { heads, dims }), out);
  };
}

/** Attention to the text, added to x in place. */
function textAttention(config: PixArtConfig, weights: WeightTable, name: string) {
  const { hidden, heads, dims, biased: bias } = config;
  const width = heads * dims;
  const query = weights.matrix(`${name}.to_q.weight`, width, hidden, { bias, split: 'columns' });
  const keyValue = projections(weights, name, 'kv', [width, hidden], { bias, split: 'columns' });
  const out = weights.matrix(`${name}.to_out.0.weight`, hidden, width, { bias: true, split: 'rows' });
  return (x: Tensor, text: Tensor, keyCounts: Tensor): void => {
    const kv = linear(text, keyValue); //                          [items, tokens of the text, 2 · heads · dims]
    const [k, v] = [0, 1].map((part) => ({ x: kv, first: part * width }));
    const q = { x: linear(x, query), first: 0 };
    linearAdd(attend(q, k!, v!, { heads, dims, keyCounts, seesOwn: true }), out, x);
  };
}
