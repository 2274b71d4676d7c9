// The decoder of Gemma 2 and Gemma 3: scaled embeddings, norms before and after each block, layers with windowed and with full
// attention, GEGLU by tanh. Norms multiply by 1 + w. Eleven dispatches per layer.

import type { Tensor } from '../../gpu/tensor.ts';
import { kvOf, type KvPages, type TextBatch } from '../../kernels/batch.ts';
import { embed } from '../../kernels/embed.ts';
import { linear } from '../../kernels/matmul.ts';
import { rmsnorm, rmsnormRows } from '../../kernels/rmsnorm.ts';
import { rmsnormAdd } from '../../kernels/rmsnorm-add.ts';
import { rotations } from '../../kernels/rotations.ts';
import { softCap } from '../../kernels/soft-cap.ts';
import type { WeightTable } from '../weights.ts';
import type { LanguageModel, TextForward } from './architecture.ts';
import { gatedMlp } from './gated-mlp.ts';
import type { GemmaConfig, GemmaLayer } from './gemma-config.ts';
import { selfAttention } from './self-attention.ts';

export function gemma(config: GemmaConfig, weights: WeightTable): LanguageModel {
  const { vocabulary, hidden, eps, tied, logitCap } = config;
  const { embedding, name, run } = decoder(config, weights, config.layers.length);
  const last = norm(weights, `${name}norm.weight`, hidden);
  const head = tied ? embedding : weights.matrix('lm_head.weight', vocabulary, hidden, { split: 'columns' });
  if (tied) weights.ignore(/^lm_head\.weight$/);

  return {
    states: run,
    head(x, { wanted, states }) {
      const normed = rmsnormRows(x, last, eps, wanted, 'sampled', states); // [sampled, hidden]
      const logits = linear(normed, head); //                               [sampled, vocabulary]
      return logitCap === null ? logits : softCap(logits, logitCap);
    },
  };
}

/** Normalized states of all rows, [rows, hidden]. */
export function gemmaNormed(config: GemmaConfig, weights: WeightTable): TextForward {
  const { name, run } = decoder(config, weights, config.layers.length);
  const last = norm(weights, `${name}norm.weight`, config.hidden);
  weights.ignore(/^lm_head\.weight$/);
  return (tape, batch, stores) => rmsnorm(run(tape, batch, stores), last, config.eps);
}

/** States of all rows after the first `depth` layers, [rows, hidden]. */
export function gemmaStates(config: GemmaConfig, weights: WeightTable, depth: number): TextForward {
  const { name, run } = decoder(config, weights, depth);
  config.layers.forEach((_, i) => {
    if (i >= depth) weights.ignore(new RegExp(`^${name}layers\\.${i}\\.`));
  });
  weights.ignore(/^(model\.)?norm\.weight$|^lm_head\.weight$/);
  return run;
}

/** The layers up to `depth`. A decoder saved without its head has no prefix in its tensor names. */
function decoder(config: GemmaConfig, weights: WeightTable, depth: number) {
  const { vocabulary, hidden, ropes } = config;
  const name = weights.has('embed_tokens.weight') ? '' : 'model.';
  const embedding = weights.embedding(`${name}embed_tokens.weight`, vocabulary, hidden);
  const layers = config.layers
    .slice(0, depth)
    .map((kind, i) => layer(config, weights, `${name}layers.${i}`, kind));
  weights.ignore(/rotary_emb\.inv_freq$/);

  const run: TextForward = (tape, batch, stores) => {
    let x = embed(tape, batch, embedding, { scale: Math.sqrt(hidden) }); // [rows, hidden]
    const turns = ropes.map((_, i) => rotations(tape, batch, ropes, i)); //  [rows, dims] each
    layers.forEach((block, i) => {
      x = block(x, turns[config.layers[i]!.rope]!, batch, kvOf(stores, i));
      tape.cut();
    });
    return x;
  };
  return { embedding, name, run };
}

function norm(weights: WeightTable, name: string, size: number): Tensor {
  return weights.vector(name, size, { plus: 1 });
}

type Block = (x: Tensor, rope: Tensor, batch: TextBatch, kv: KvPages) => Tensor;

function layer(config: GemmaConfig, weights: WeightTable, name: string, kind: GemmaLayer): Block {
  const { hidden, eps } = config;
  const inputNorm = norm(weights, `${name}.input_layernorm.weight`, hidden);
  const rule = { window: kind.window, cap: config.scoreCap };
  const { attend, out } = selfAttention(config, weights, `${name}.self_attn`, rule);
  const postAttention = norm(weights, `${name}.post_attention_layernorm.weight`, hidden);
  const preFeedForward = norm(weights, `${name}.pre_feedforward_layernorm.weight`, hidden);
  const { gate, down } = gatedMlp(config, weights, `${name}.mlp`, 'gelu-tanh');
  const postFeedForward = norm(weights, `${name}.post_feedforward_layernorm.weight`, hidden);

  return (x, rope, batch, kv) => {
    const attended = linear(attend(rmsnorm(x, inputNorm, eps), rope, batch, kv), out); // [rows, hidden]
    x = rmsnormAdd(attended, postAttention, eps, null, x);
    const fed = linear(gate(rmsnorm(x, preFeedForward, eps)), down); //                  [rows, hidden]
    return rmsnormAdd(fed, postFeedForward, eps, null, x);
  };
}
