// LTXVideoTransformer3DModel: the latents of all frames of a clip attend to each other, then to a text. One network makes the modulation of all
// blocks from the time step, or from the time steps of single frames.

import type { Tensor } from '../../../gpu/tensor.ts';
import { addTable } from '../../../kernels/add-table.ts';
import type { Columns } from '../../../kernels/columns.ts';
import { gatedAdd } from '../../../kernels/gated-add.ts';
import { divideTokens } from '../../../kernels/gather-tokens.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear } from '../../../kernels/matmul.ts';
import { reshape } from '../../../kernels/reshape.ts';
import { rmsnorm } from '../../../kernels/rmsnorm.ts';
import type { WeightTable } from '../../weights.ts';
import { runBlocks } from '../block-rows.ts';
import { modulated, singleModulation } from '../adaln-single.ts';
import type { LTXConfig } from './ltx-config.ts';
import type { TokenGrid } from '../../../kernels/attend-blocks.ts';
import { conditionAttention, ownAttention } from './normed-attention.ts';
import { numberEmbedding, perceptron } from '../number-embedding.ts';

export interface LTXStep {
  /** [clips · frames, height, width, channels] */
  latents: Tensor;
  /** f32 [1, 1]: the time step, 0 … 1000, or of one clip [frames, 1]: that of each frame. */
  time: Tensor;
  /** The conditioned texts, [clips, tokens, hidden]. */
  text: Tensor;
  /** [frames · height · width, hidden], of each clip */
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
      const clips = text.shape[0] as number;
      const tokens = shape.slice(0, -1).reduce((product, side) => product * side) / clips;
      const isTimed = time.rows({}) > 1; // frames, which a device then has whole
      const divided = divideTokens(latents, [tokens], isTimed ? shape[1]! * shape[2]! : 1);
      const x = linear(divided.own(reshape(latents, [clips, tokens, channels])), embed);
      const embedded = embedTime(isTimed ? divided.ownUnits(time) : time); // [1 or frames, hidden]
      const modulation = modulate(embedded); //                    [1 or frames, 6 · hidden]
      const [frames, rows, columns] = shape as [number, number, number];
      const grid = { frames: frames / clips, rows, columns };
      const given = { modulation, text, rotations: divided.own(rotations), grid };
      runBlocks([{ blocks: blocks.map((run) => () => run(x, given)), changed: [x] }], () =>
        blocks[0]!.probe(x, given),
      );
      const m = addTable(embedded, table); //                      [1 or frames, 2 · hidden]: shift, scale
      const y = linear(layernorm(x, null, END_EPS, modulated(m, 0, hidden)), out);
      return reshape(divided.all(y), shape);
    },
  };
}

/** A block changes x in place. */
interface Block {
  (x: Tensor, inputs: BlockInputs): void;
  /** x as attention gets it. */
  probe(x: Tensor, inputs: BlockInputs): Tensor;
}

interface BlockInputs extends Pick<LTXStep, 'text' | 'rotations'> {
  modulation: Tensor;
  grid: TokenGrid;
}

function block(config: LTXConfig, weights: WeightTable, name: string): Block {
  const { hidden, eps } = config;
  const biased = { bias: true } as const;
  const table = weights.table(`${name}.scale_shift_table`, 6, hidden);
  const attention = { ...config, eps: HEAD_EPS };
  const selfAttention = ownAttention(attention, weights, `${name}.attn1`);
  const crossAttention = conditionAttention(attention, weights, `${name}.attn2`, [
    ['to_k', 'to_v', 'norm_k'],
  ]);
  const [{ ffn }, divided] = weights.divide({ ffn: WIDER * hidden }, 'ffn');
  const up = divided.matrix(`${name}.ff.net.0.proj.weight`, ffn, hidden, { ...biased, split: 'columns' });
  const down = divided.matrix(`${name}.ff.net.2.weight`, hidden, ffn, { ...biased, split: 'rows' });
  const run = (x: Tensor, { modulation, text, rotations, grid }: BlockInputs): void => {
    const m = addTable(modulation, table); //                      [1 or frames, 6 · hidden]
    const gate = (i: number): Columns => ({ x: m, first: i * hidden });
    const normed = rmsnorm(x, null, eps, modulated(m, 0, hidden));
    gatedAdd(selfAttention(normed, rotations, grid), gate(2), x);
    crossAttention(x, [text], x);
    const y = rmsnorm(x, null, eps, modulated(m, 3 * hidden, hidden));
    gatedAdd(linear(linear(y, up, { activation: 'gelu-tanh' }), down), gate(5), x);
    x.tape!.cut();
  };
  const probe: Block['probe'] = (x, { modulation }) =>
    rmsnorm(x, null, eps, modulated(addTable(modulation, table), 0, hidden));
  return Object.assign(run, { probe });
}
