// The layer of Gemma 3n. Four streams stand in place of one residual stream (AltUp): a layer reads the first, after all four were mixed, and what it
// changes of it is added to all of them. A product of low rank stands beside attention (LAuReL), the first layers open few of their gates, the last
// ones read keys and values of earlier layers, and embeddings of the tokens enter all streams but the first. Twenty-one dispatches per layer, one
// more where gates are closed.

import type { Tensor } from '../../../gpu/tensor.ts';
import { linear } from '../../../kernels/matmul.ts';
import { multiply } from '../../../kernels/multiply.ts';
import { normed, type Rows } from '../../../kernels/normed.ts';
import { rmsnorm } from '../../../kernels/rmsnorm.ts';
import { rmsnormAdd } from '../../../kernels/rmsnorm-add.ts';
import { scaledAdd } from '../../../kernels/scaled-add.ts';
import { sparseGate } from '../../../kernels/sparse-gate.ts';
import { streamAdd } from '../../../kernels/stream-add.ts';
import { streamCorrect } from '../../../kernels/stream-correct.ts';
import { meanOfStreams, streamsOf } from '../../../kernels/stream-match.ts';
import { streamPredict } from '../../../kernels/stream-predict.ts';
import { STREAMS, type StreamRouter } from '../../../kernels/stream-router.ts';
import { takeColumns } from '../../../kernels/take-columns.ts';
import type { WeightTable } from '../../weights.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import type { Block, Streams } from '../blocks/decoder.ts';
import { gatedMlp } from '../blocks/gated-mlp.ts';
import { selfAttention, type AttentionConfig } from '../blocks/self-attention.ts';
import { unreadKeys, type Entering } from '../gemma4/gemma4.ts';

export interface Gemma3nConfig extends DecoderModel, AttentionConfig {
  /** Embeddings that enter every layer. */
  entering: Entering;
  /** Widths of the layers' feed-forward blocks. */
  ffns: readonly number[];
  /** How many standard deviations above their mean the gates of each layer begin to open; null: all are open. */
  openFrom: readonly (number | null)[];
  /** Rank of the product beside attention. */
  rank: number;
}

export function gemma3nLayer(config: Gemma3nConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps, entering: own, rank } = config;
  const { window, shares, heads = config.heads } = config.layers[i]!;
  const norm = (module: string) => weights.vector(`${name}.${module}.weight`, hidden);
  const { predict, correct } = alternatingUpdates(config, weights, `${name}.altup`);
  const before = norm('input_layernorm');
  const left = weights.matrix(`${name}.laurel.linear_left.weight`, rank, hidden);
  const right = weights.matrix(`${name}.laurel.linear_right.weight`, hidden, rank);
  const behindLaurel = norm('laurel.post_laurel_norm');
  const attention = selfAttention({ ...config, heads }, weights, `${name}.self_attn`, { window });
  if (shares !== undefined) weights.ignore(unreadKeys(name));
  const behindAttention = norm('post_attention_layernorm');
  const beforeMlp = norm('pre_feedforward_layernorm');
  const mlp = feedForward(config, weights, `${name}.mlp`, i);
  const behindMlp = norm('post_feedforward_layernorm');
  const gate = weights.matrix(`${name}.per_layer_input_gate.weight`, own.columns, hidden);
  const project = weights.matrix(`${name}.per_layer_projection.weight`, hidden, own.columns);
  const behindEntering = norm('post_per_layer_input_norm');

  return (streams, rope, batch, kv, entering) => {
    const x = predict(streams); //                                                     [rows, hidden]
    const y = rmsnorm(x, before, eps);
    const laurel = linear(linear(y, left), right);
    const attended = linear(attention.attend(y, rope, batch, kv), attention.out);
    rmsnormAdd(laurel, behindLaurel, eps, null, y);
    rmsnormAdd(attended, behindAttention, eps, null, y);
    // x is √2 times that of transformers from here on, which the norm undoes if its eps is twice as large.
    scaledAdd(x, 1, y);
    const fed = rmsnorm(mlp(normed(x, beforeMlp, 2 * eps)), behindMlp, eps);
    const first = correct(streams, scaledAdd(x, Math.SQRT1_2, fed)); //                [rows, hidden]
    const gates = linear(first, gate, { activation: 'gelu-tanh' }); //                 [rows, columns]
    const entered = multiply(gates, { x: entering!, first: i * own.columns }, own.columns);
    // What enters is √2 times that of transformers.
    return streamAdd(streams, linear(entered, project), behindEntering, 2 * eps); //   [rows, 4 · hidden]
  };
}

/** x [rows, hidden] → [rows, hidden] */
function feedForward(
  { hidden, ffns, openFrom }: Gemma3nConfig,
  weights: WeightTable,
  name: string,
  i: number,
) {
  const [ffn, from] = [ffns[i]!, openFrom[i]!];
  if (from === null) {
    const { gate, down } = gatedMlp({ hidden, ffn }, weights, name, 'gelu-tanh');
    return (x: Rows): Tensor => linear(gate(x), down);
  }
  const parts = ['gate_proj', 'up_proj'].map((one) => ({ name: `${name}.${one}.weight`, rows: ffn }));
  const gateUp = weights.stacked(parts, hidden);
  const down = weights.matrix(`${name}.down_proj.weight`, hidden, ffn);
  return (x: Rows): Tensor => linear(sparseGate(linear(x, gateUp), from), down);
}

/** What stands before and behind a layer. */
function alternatingUpdates({ hidden, eps }: Gemma3nConfig, weights: WeightTable, name: string) {
  const router: StreamRouter = {
    norm: weights.vector(`${name}.router_norm.weight`, hidden),
    matrix: weights.table(`${name}.modality_router.weight`, STREAMS, hidden),
    eps,
  };
  const predictions = weights.table(`${name}.prediction_coefs.weight`, STREAMS ** 2, STREAMS);
  const corrections = weights.table(`${name}.correction_coefs.weight`, STREAMS, STREAMS);
  const gain = weights.vector(`${name}.correct_output_scale`, hidden);
  return {
    /** streams [rows, 4 · hidden], in place → what the layer reads, [rows, hidden] */
    predict: (streams: Tensor): Tensor => streamPredict(streams, router, predictions),
    /** streams [rows, 4 · hidden], in place, layer [rows, hidden] → what gates the layer's embeddings, [rows, hidden] */
    correct: (streams: Tensor, layer: Tensor): Tensor =>
      streamCorrect(streams, layer, router, corrections, gain),
  };
}

/** Three projections of the embeddings become streams beside them, and as many of the last streams are averaged with the first. */
export function gemma3nStreams({ hidden }: Gemma3nConfig, weights: WeightTable, name: string): Streams {
  const others = Array.from({ length: STREAMS - 1 }, (_, i) => i);
  const matrices = (module: string) =>
    others.map((i) => weights.matrix(`${name}${module}.${i}.weight`, hidden, hidden));
  const starts = matrices('altup_projections');
  const ends = matrices('altup_unembed_projections');
  const stream = (streams: Tensor, i: number): Tensor =>
    takeColumns({ x: streams, first: i * hidden }, hidden);

  return {
    part: (x) =>
      streamsOf(
        x,
        starts.map((start) => linear(x, start)),
      ), //                                  [rows, 4 · hidden]
    join: (streams) =>
      meanOfStreams(
        streams,
        ends.map((end, i) => linear(stream(streams, i + 1), end)),
      ), // [rows, hidden]
  };
}
