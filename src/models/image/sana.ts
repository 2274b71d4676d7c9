// SanaTransformer2DModel: latents attend to each other by linear attention, and to a text by softmax; convolutions in the feed-forward part
// take the place of positions.

import type { Tensor } from '../../gpu/tensor.ts';
import { addTable } from '../../kernels/add-table.ts';
import { attend } from '../../kernels/attend.ts';
import type { Columns } from '../../kernels/columns.ts';
import { joinRows, takeRows } from '../../kernels/copy-rows.ts';
import { gatedAdd } from '../../kernels/gated-add.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linearAttend } from '../../kernels/linear-attend.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { patchify, unpatchify } from '../../kernels/patchify.ts';
import { rmsnormColumns } from '../../kernels/rmsnorm-columns.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { affine } from '../affine.ts';
import type { WeightTable } from '../weights.ts';
import { runBlocks } from './block-rows.ts';
import { adaLNSingle } from './adaln-single.ts';
import { gluConv } from './glu-conv.ts';
import { projections } from './projections.ts';
import type { SanaConfig } from './sana-config.ts';

export interface SanaStep {
  /** [items, height, width, channels] */
  latents: Tensor;
  /** f32 [items, 1], or [1, 1] for all items: the time step, multiplied by the configuration's factor. */
  time: Tensor;
  /** f32 [items, 1]: the guidance scale, multiplied by the configuration's factor; null: the model has no such input. */
  guidance: Tensor | null;
  /** Positions of the tokens, [1, tokens, hidden]; null: the model has none. */
  places: Tensor | null;
  /** The conditioned texts, [items, tokens, hidden]. */
  text: Tensor;
  /** u32 [items]: tokens of each text; others are not seen. */
  counts: Tensor;
}

export interface Sana {
  /** States of texts [items, tokens, textDims] → [items, tokens, hidden]; constant over all steps. */
  condition(text: Tensor): Tensor;
  /** → [items, height, width, channels] */
  forward(step: SanaStep): Tensor;
}

const NORM_EPS = 1e-5;
const END_EPS = 1e-6;
/** Added to the sum of a query's weights. */
const ATTENTION_EPS = 1e-15;

export function sana(config: SanaConfig, weights: WeightTable): Sana {
  const { hidden, channels, patch, textDims, layers, guidanceScale } = config;
  const biased = { bias: true } as const;
  const embed = weights.matrix('patch_embed.proj.weight', hidden, patch ** 2 * channels, {
    ...biased,
    stored: [channels, patch, patch],
  });
  const modulate =
    guidanceScale === null
      ? adaLNSingle(weights, hidden, 'time_embed.linear', ['time_embed.emb.timestep_embedder'])
      : adaLNSingle(weights, hidden, 'time_embed.linear', [
          'time_embed.timestep_embedder',
          'time_embed.guidance_embedder',
        ]);
  const textUp = weights.matrix('caption_projection.linear_1.weight', hidden, textDims, biased);
  const textOut = weights.matrix('caption_projection.linear_2.weight', hidden, hidden, biased);
  const textNorm = weights.vector('caption_norm.weight', hidden);
  const blocks = Array.from({ length: layers }, (_, i) => block(config, weights, `transformer_blocks.${i}`));
  const table = weights.table('scale_shift_table', 2, hidden);
  const out = weights.matrix('proj_out.weight', patch ** 2 * channels, hidden, biased);

  return {
    condition: (text) =>
      rmsnorm(linear(linear(text, textUp, { activation: 'gelu-tanh' }), textOut), textNorm, NORM_EPS),
    forward({ latents, time, guidance, places, text, counts }) {
      const [items, height, width] = latents.shape as [number, number, number];
      const size = [items, height / patch, width / patch];
      const patches =
        patch === 1 ? latents : takeRows(patchify(latents, { size: patch, order: 'cpq' }), 0, size);
      const { embedded, modulation } = guidance === null ? modulate(time) : modulate(time, guidance);
      const x = places
        ? linearAdd(patches, embed, joinRows(Array<Tensor>(items).fill(places), size))
        : linear(patches, embed); //                                [items, rows, columns, hidden]
      runBlocks([{ blocks: blocks.map((run) => () => run(x, modulation, text, counts)), changed: [x] }]);
      const m = addTable(embedded, table); //                      [items or 1, 2 · hidden]: shift, scale
      const y = linear(layernorm(x, null, END_EPS, modulated(m, 0, hidden)), out);
      if (patch === 1) return y;
      const tokens = takeRows(y, 0, [items, (height * width) / patch ** 2]);
      return unpatchify(tokens, { size: patch, order: 'pqc', height, width });
    },
  };
}

function modulated(m: Tensor, first: number, hidden: number): Record<'shift' | 'scale', Columns> {
  return { shift: { x: m, first }, scale: { x: m, first: first + hidden } };
}

/** A block changes x in place. */
type Block = (x: Tensor, modulation: Tensor, text: Tensor, counts: Tensor) => void;

function block(config: SanaConfig, weights: WeightTable, name: string): Block {
  const { hidden, inner, eps } = config;
  const table = weights.table(`${name}.scale_shift_table`, 6, hidden);
  // Norms over all heads need them on one device.
  const [own, divided] = config.headNorm ? [config, weights] : weights.divide(config, 'heads', 'crossHeads');
  const selfAttention = linearAttention(own, divided, `${name}.attn1`);
  const crossAttention = textAttention(own, divided, `${name}.attn2`);
  const norm = config.affine ? affine(weights, `${name}.norm2`, hidden) : null;
  const feedForward = gluConv(weights, `${name}.ff`, hidden, inner);
  return (x, modulation, text, counts) => {
    const m = addTable(modulation, table); //                      [items or 1, 6 · hidden]
    const gate = (i: number): Columns => ({ x: m, first: i * hidden });
    gatedAdd(selfAttention(layernorm(x, null, eps, modulated(m, 0, hidden))), gate(2), x);
    crossAttention(x, text, counts);
    gatedAdd(feedForward(layernorm(x, norm, eps, modulated(m, 3 * hidden, hidden))), gate(5), x);
    x.tape!.cut();
  };
}

/** x [items, rows, columns, hidden] → the same shape */
function linearAttention(config: SanaConfig, weights: WeightTable, name: string) {
  const { hidden, heads, dims, biased: bias } = config;
  const width = heads * dims;
  const qkv = projections(weights, name, 'qkv', [width, hidden], { bias, split: 'columns' });
  const normHeads = headNorms(config, weights, name, width);
  const out = weights.matrix(`${name}.to_out.0.weight`, hidden, width, { bias: true, split: 'rows' });
  return (x: Tensor): Tensor => {
    const y = linear(x, qkv); //                                   [items, rows, columns, 3 · heads · dims]
    normHeads({ x: y, first: 0 }, { x: y, first: width });
    const [q, k, v] = [0, 1, 2].map((part) => ({ x: y, first: part * width }));
    return linear(linearAttend(q!, k!, v!, { heads, dims, eps: ATTENTION_EPS }), out);
  };
}

/** Attention to the text, added to x in place. */
function textAttention(config: SanaConfig, weights: WeightTable, name: string) {
  const { hidden, crossHeads: heads, crossDims: dims } = config;
  const width = heads * dims;
  const biased = { bias: true } as const;
  const query = weights.matrix(`${name}.to_q.weight`, width, hidden, { ...biased, split: 'columns' });
  const keyValue = projections(weights, name, 'kv', [width, hidden], { ...biased, split: 'columns' });
  const normHeads = headNorms(config, weights, name, width);
  const out = weights.matrix(`${name}.to_out.0.weight`, hidden, width, { ...biased, split: 'rows' });
  return (x: Tensor, text: Tensor, keyCounts: Tensor): void => {
    const q = { x: linear(x, query), first: 0 }; //                [items, rows, columns, width of heads]
    const kv = linear(text, keyValue); //                          [items, tokens, 2 · width of heads]
    const [k, v] = [
      { x: kv, first: 0 },
      { x: kv, first: width },
    ] as const;
    normHeads(q, k);
    linearAdd(attend(q, k, v, { heads, dims, keyCounts }), out, x);
  };
}

/** RMSNorms of queries and of keys over all heads, in place. */
function headNorms({ headNorm }: SanaConfig, weights: WeightTable, name: string, columns: number) {
  if (!headNorm) return (): void => {};
  const norms = ['norm_q', 'norm_k'].map((part) => weights.vector(`${name}.${part}.weight`, columns));
  return (...heads: [q: Columns, k: Columns]): void =>
    heads.forEach(({ x, first }, i) => void rmsnormColumns(x, first, norms[i]!, NORM_EPS));
}
