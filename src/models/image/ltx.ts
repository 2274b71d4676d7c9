// LTXVideoTransformer3DModel: the latents of all frames of a clip attend to each other, then to a text. One network makes the modulation of all
// blocks from the time step, or from the time steps of single frames.

import type { Tensor } from '../../gpu/tensor.ts';
import { addTable } from '../../kernels/add-table.ts';
import { attend, SEGMENT_WORK } from '../../kernels/attend.ts';
import type { Columns } from '../../kernels/columns.ts';
import { gatedAdd } from '../../kernels/gated-add.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import type { Modulation } from '../../kernels/modulation.ts';
import { reshape } from '../../kernels/reshape.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { rmsnormColumns } from '../../kernels/rmsnorm-columns.ts';
import { rotate } from '../../kernels/rotate.ts';
import type { WeightTable } from '../weights.ts';
import { singleModulation } from './adaln-single.ts';
import type { LTXConfig } from './ltx-config.ts';
import { numberEmbedding, perceptron } from './number-embedding.ts';
import { projections } from './projections.ts';

export interface LTXStep {
  /** [frames, height, width, channels] */
  latents: Tensor;
  /** f32 [1, 1]: the time step, 0 … 1000, or [frames, 1]: that of each frame. */
  time: Tensor;
  /** The conditioned text, [1, tokens, hidden]. */
  text: Tensor;
  /** [frames · height · width, hidden] */
  rotations: Tensor;
}

export interface LTX {
  /** States of a text [1, tokens, textDims] → [1, tokens, hidden]; constant over all steps. */
  condition(text: Tensor): Tensor;
  /** → the velocity away from the clip, in the shape of the latents */
  forward(step: LTXStep): Tensor;
}

/** Of the norms of queries and keys. */
const HEAD_EPS = 1e-5;
const END_EPS = 1e-6;
/** Factor on the width of the feed-forward part. */
const WIDER = 4;

export function ltx(config: LTXConfig, weights: WeightTable): LTX {
  const { hidden, channels, textDims, layers } = config;
  const biased = { bias: true } as const;
  const embed = weights.matrix('proj_in.weight', hidden, channels, biased);
  const embedTime = numberEmbedding(weights, 'time_embed.emb.timestep_embedder', hidden);
  const modulate = singleModulation(weights, hidden, 'time_embed.linear');
  const condition = perceptron(weights, 'caption_projection', [hidden, textDims], biased, 'gelu-tanh');
  const blocks = Array.from({ length: layers }, (_, i) => block(config, weights, `transformer_blocks.${i}`));
  const table = weights.table('scale_shift_table', 2, hidden);
  const out = weights.matrix('proj_out.weight', channels, hidden, biased);

  return {
    condition: (text) => condition(text),
    forward({ latents, time, text, rotations }) {
      const shape = latents.shape as number[];
      const tokens = shape.slice(0, -1).reduce((product, side) => product * side);
      const x = linear(reshape(latents, [1, tokens, channels]), embed);
      const embedded = embedTime(time); //                         [1 or frames, hidden]
      const modulation = modulate(embedded); //                    [1 or frames, 6 · hidden]
      for (const run of blocks) run(x, modulation, text, rotations);
      const m = addTable(embedded, table); //                      [1 or frames, 2 · hidden]: shift, scale
      const y = linear(layernorm(x, null, END_EPS, modulated(m, 0, hidden)), out);
      return reshape(y, shape);
    },
  };
}

function modulated(m: Tensor, first: number, hidden: number): Modulation {
  return { shift: { x: m, first }, scale: { x: m, first: first + hidden } };
}

/** A block changes x in place. */
type Block = (x: Tensor, modulation: Tensor, text: Tensor, rotations: Tensor) => void;

function block(config: LTXConfig, weights: WeightTable, name: string): Block {
  const { hidden, eps } = config;
  const biased = { bias: true } as const;
  const table = weights.table(`${name}.scale_shift_table`, 6, hidden);
  const selfAttention = ownAttention(config, weights, `${name}.attn1`);
  const crossAttention = textAttention(config, weights, `${name}.attn2`);
  const ffn = WIDER * hidden;
  const up = weights.matrix(`${name}.ff.net.0.proj.weight`, ffn, hidden, { ...biased, split: 'columns' });
  const down = weights.matrix(`${name}.ff.net.2.weight`, hidden, ffn, { ...biased, split: 'rows' });
  return (x, modulation, text, rotations) => {
    const m = addTable(modulation, table); //                      [1 or frames, 6 · hidden]
    const gate = (i: number): Columns => ({ x: m, first: i * hidden });
    gatedAdd(selfAttention(rmsnorm(x, null, eps, modulated(m, 0, hidden)), rotations), gate(2), x);
    crossAttention(x, text);
    const y = rmsnorm(x, null, eps, modulated(m, 3 * hidden, hidden));
    gatedAdd(linear(linear(y, up, { activation: 'gelu-tanh' }), down), gate(5), x);
    x.tape!.cut();
  };
}

/** Attention of all tokens to each other; queries and keys are normalized over all heads. x [1, tokens, hidden] → the same shape */
function ownAttention(config: LTXConfig, weights: WeightTable, name: string) {
  const { hidden, heads, dims, biased: bias, outBiased } = config;
  const qkv = projections(weights, name, 'qkv', [hidden, hidden], { bias, split: 'columns' });
  const norms = ['q', 'k'].map((part) => weights.vector(`${name}.norm_${part}.weight`, hidden));
  const out = weights.matrix(`${name}.to_out.0.weight`, hidden, hidden, { bias: outBiased, split: 'rows' });
  return (x: Tensor, rotations: Tensor): Tensor => {
    const y = linear(x, qkv); //                                   [1, tokens, 3 · hidden]
    const [q, k, v] = [0, 1, 2].map((part) => ({ x: y, first: part * hidden }));
    [q!, k!].forEach((part, i) => {
      rmsnormColumns(y, part.first, norms[i]!, HEAD_EPS);
      rotate(part, rotations, { heads, dims, layout: 'interleaved' });
    });
    return linear(attend(q!, k!, v!, { heads, dims, mostWork: SEGMENT_WORK }), out);
  };
}

/** Attention to the text, added to x in place. */
function textAttention(config: LTXConfig, weights: WeightTable, name: string) {
  const { hidden, heads, dims, biased: bias, outBiased } = config;
  const query = weights.matrix(`${name}.to_q.weight`, hidden, hidden, { bias, split: 'columns' });
  const keyValue = projections(weights, name, 'kv', [hidden, hidden], { bias, split: 'columns' });
  const [queryNorm, keyNorm] = ['q', 'k'].map((part) =>
    weights.vector(`${name}.norm_${part}.weight`, hidden),
  );
  const out = weights.matrix(`${name}.to_out.0.weight`, hidden, hidden, { bias: outBiased, split: 'rows' });
  return (x: Tensor, text: Tensor): void => {
    const q = { x: rmsnormColumns(linear(x, query), 0, queryNorm!, HEAD_EPS), first: 0 };
    const kv = rmsnormColumns(linear(text, keyValue), 0, keyNorm!, HEAD_EPS); // [1, tokens of the text, 2 · hidden]
    const [k, v] = [0, 1].map((part) => ({ x: kv, first: part * hidden }));
    linearAdd(attend(q, k!, v!, { heads, dims, mostWork: SEGMENT_WORK }), out, x);
  };
}
