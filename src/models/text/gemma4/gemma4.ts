// The layer of Gemma 4: that of Gemma 3 with heads of two sizes, values that are normalized and, in some models, are the keys, and a scalar
// that ends the layer. In small models the last layers read the keys and values of earlier ones, and embeddings of the tokens enter every
// layer. Ten dispatches per layer, four more with such embeddings, eleven more where experts stand beside the feed-forward block.

import type { Tensor } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import { embed } from '../../../kernels/embed.ts';
import { linear } from '../../../kernels/matmul.ts';
import { multiply } from '../../../kernels/multiply.ts';
import { normed } from '../../../kernels/normed.ts';
import { rmsnorm } from '../../../kernels/rmsnorm.ts';
import { rmsnormAdd } from '../../../kernels/rmsnorm-add.ts';
import { rmsnormColumns } from '../../../kernels/rmsnorm-columns.ts';
import type { WeightTable } from '../../weights.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import type { Block, LayerInputs } from '../blocks/decoder.ts';
import { mixture } from '../blocks/experts.ts';
import type { ExpertsConfig } from '../blocks/experts-config.ts';
import { gatedMlp, type MlpConfig } from '../blocks/gated-mlp.ts';
import { selfAttention, type AttentionConfig } from '../blocks/self-attention.ts';

export interface Gemma4Config extends DecoderModel, AttentionConfig, MlpConfig {
  /** Embeddings that enter every layer; null: none. */
  entering: Entering | null;
  /** Whether tokens of an image see each other in layers without windows, too. */
  spansEverywhere: boolean;
  /** Width of the feed-forward block of layers that read the keys and values of another. */
  sharedFfn: number;
}

export interface Entering {
  /** Rows of their table. */
  vocabulary: number;
  /** Columns for each layer. */
  columns: number;
  /** The token that stands in their table for rows of media. */
  padding: number;
}

export function gemma4Layer(config: Gemma4Config, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps, entering: own } = config;
  const { window, shares, heads = config.heads } = config.layers[i]!;
  const ffn = shares === undefined ? config.ffn : config.sharedFfn;
  const norm = (module: string) => weights.vector(`${name}.${module}.weight`, hidden);
  const beforeAttention = norm('input_layernorm');
  const { attend, out } = selfAttention({ ...config, heads }, weights, `${name}.self_attn`, {
    window,
    // Tokens of an image see each other within windows only, but for the 12B.
    causal: window === null && !config.spansEverywhere,
  });
  if (shares !== undefined) weights.ignore(unreadKeys(name));
  const behindAttention = norm('post_attention_layernorm');
  const beforeMlp = norm('pre_feedforward_layernorm');
  const { gate, down } = gatedMlp({ ...config, ffn }, weights, `${name}.mlp`, 'gelu-tanh');
  const mix = config.experts ? expertsBeside(config, config.experts, weights, name, i) : null;
  const behindMlp = norm('post_feedforward_layernorm');
  const enter = own && enteringBlock(config, own.columns, weights, name, i);
  const scalar = weights.vector(`${name}.layer_scalar`, 1);

  return (x, rope, batch, kv, entering) => {
    const attended = linear(attend(normed(x, beforeAttention, eps), rope, batch, kv), out); // [rows, hidden]
    x = rmsnormAdd(attended, behindAttention, eps, null, x);
    const dense = linear(gate(normed(x, beforeMlp, eps)), down); //                            [rows, hidden]
    const fed = mix ? mix(x, dense, batch) : dense;
    x = rmsnormAdd(fed, behindMlp, eps, null, x, enter ? null : scalar);
    return enter ? enter(x, entering!, scalar) : x;
  };
}

/** The sum of what the feed-forward block and the experts make of a layer's states, each normalized. The router has a norm of its own. */
function expertsBeside(
  { hidden, eps }: Gemma4Config,
  experts: ExpertsConfig,
  weights: WeightTable,
  name: string,
  i: number,
) {
  const norm = (module: string) => weights.vector(`${name}.${module}.weight`, hidden);
  const behindDense = norm('post_feedforward_layernorm_1');
  const beforeExperts = norm('pre_feedforward_layernorm_2');
  const mix = mixture(hidden, experts, weights, name, i);
  const beforeRouter = weights.vector(`${name}.router.scale`, hidden);
  const behindExperts = norm('post_feedforward_layernorm_2');

  return (x: Tensor, dense: Tensor, batch: TextBatch): Tensor => {
    const mixed = mix(rmsnorm(x, beforeExperts, eps), normed(x, beforeRouter, eps), null, batch);
    return rmsnormAdd(mixed, behindExperts, eps, null, rmsnorm(dense, behindDense, eps)); // [rows, hidden]
  };
}

/** Checkpoints may have keys and values of layers that read those of another. */
export function unreadKeys(name: string): RegExp {
  return new RegExp(`^${name.replaceAll('.', '\\.')}\\.self_attn\\.(k_proj|v_proj|k_norm|v_norm)\\.`);
}

/** Adds layer `i`'s columns of what enters the layers, by a gate of its own. */
function enteringBlock(
  { hidden, eps }: Gemma4Config,
  columns: number,
  weights: WeightTable,
  name: string,
  i: number,
) {
  const gate = weights.matrix(`${name}.per_layer_input_gate.weight`, columns, hidden, { split: 'columns' });
  const out = weights.matrix(`${name}.per_layer_projection.weight`, hidden, columns, { split: 'rows' });
  const behind = weights.vector(`${name}.post_per_layer_input_norm.weight`, hidden);

  return (x: Tensor, entering: Tensor, scalar: Tensor): Tensor => {
    const gates = linear(x, gate, { activation: 'gelu-tanh' }); //                    [rows, columns]
    const y = linear(multiply(gates, { x: entering, first: i * columns }, columns), out);
    // What enters is √2 times that of transformers, which the norm undoes if its eps is twice as large.
    return rmsnormAdd(y, behind, 2 * eps, null, x, scalar); //                        [rows, hidden]
  };
}

/** Columns for all layers: a projection of the embeddings, normalized layer by layer, and rows of a second table. */
export function enteringColumns(
  config: Pick<Gemma4Config, 'hidden' | 'eps' | 'layers' | 'entering'>,
  weights: WeightTable,
  name: string,
): LayerInputs | null {
  const { hidden, eps, layers, entering } = config;
  if (entering === null) return null;
  const { vocabulary, columns, padding } = entering;
  const all = layers.length * columns;
  const table = weights.embedding(`${name}embed_tokens_per_layer.weight`, vocabulary, all);
  const projection = weights.matrix(`${name}per_layer_model_projection.weight`, all, hidden);
  const norm = weights.vector(`${name}per_layer_projection_norm.weight`, columns);

  return (tape, batch, x) => {
    const rows = embed(tape, batch, table, { scale: Math.sqrt(columns), inputToken: padding }); // [rows, layers · columns]
    const y = linear(x, projection); //                                       [rows, layers · columns]
    // The projection is not divided by √hidden, so that eps is multiplied by hidden.
    layers.forEach((_, i) => rmsnormColumns(y, i * columns, norm, eps * hidden, rows));
    return y;
  };
}
