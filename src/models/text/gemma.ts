// The decoder of Gemma 2 and Gemma 3: scaled embeddings, norms before and after each block, layers with windowed and with full
// attention, GEGLU by tanh. Norms multiply by 1 + w. Eleven dispatches per layer.

import type { Tensor } from '../../gpu/tensor.ts';
import { attention } from '../../kernels/attention.ts';
import { kvOf, type KvPages, type TextBatch } from '../../kernels/batch.ts';
import { embed } from '../../kernels/embed.ts';
import { linear, linearTanhGeglu } from '../../kernels/matmul.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import { rmsnorm, rmsnormRows } from '../../kernels/rmsnorm.ts';
import { rmsnormAdd } from '../../kernels/rmsnorm-add.ts';
import { ropeKv } from '../../kernels/rope-kv.ts';
import { rotations } from '../../kernels/rotations.ts';
import { softCap } from '../../kernels/soft-cap.ts';
import type { WeightTable } from '../weights.ts';
import type { LanguageModel, TextForward } from './architecture.ts';
import type { GemmaConfig, GemmaLayer } from './gemma-config.ts';

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
  const attend = selfAttention(config, weights, `${name}.self_attn`, kind.window);
  const postAttention = norm(weights, `${name}.post_attention_layernorm.weight`, hidden);
  const preFeedForward = norm(weights, `${name}.pre_feedforward_layernorm.weight`, hidden);
  const feedForward = mlp(config, weights, `${name}.mlp`);
  const postFeedForward = norm(weights, `${name}.post_feedforward_layernorm.weight`, hidden);

  return (x, rope, batch, kv) => {
    x = rmsnormAdd(attend(rmsnorm(x, inputNorm, eps), rope, batch, kv), postAttention, eps, null, x);
    return rmsnormAdd(feedForward(rmsnorm(x, preFeedForward, eps)), postFeedForward, eps, null, x);
  };
}

function selfAttention(config: GemmaConfig, weights: WeightTable, name: string, window: number | null) {
  const { hidden, heads: shape, attentionBias: bias, eps, scoreCap: cap } = config;
  const { heads, kvHeads, dims } = shape;
  const projections: readonly [string, number][] = [
    ['q_proj', heads],
    ['k_proj', kvHeads],
    ['v_proj', kvHeads],
  ];
  const qkv = weights.stacked(
    projections.map(([part, count]) => ({ name: `${name}.${part}.weight`, rows: count * dims })),
    hidden,
    { bias, split: 'columns' },
  );
  const norms = config.headNorms
    ? {
        q: norm(weights, `${name}.q_norm.weight`, dims),
        k: norm(weights, `${name}.k_norm.weight`, dims),
        eps,
      }
    : null;
  const out = weights.matrix(`${name}.o_proj.weight`, hidden, heads * dims, { bias, split: 'rows' });

  return (x: Tensor, rope: Tensor, batch: TextBatch, kv: KvPages): Tensor => {
    const q = ropeKv(linear(x, qkv), rope, shape, kv, norms); //            [rows, heads · dims]
    return linear(attention(q, batch, shape, kv, { window, cap }), out); // [rows, hidden]
  };
}

function mlp({ hidden, ffn }: GemmaConfig, weights: WeightTable, name: string) {
  const gateUp: Matrix = weights.gateUp(`${name}.gate_proj.weight`, `${name}.up_proj.weight`, ffn, hidden);
  const down = weights.matrix(`${name}.down_proj.weight`, hidden, ffn, { split: 'rows' });

  return (x: Tensor): Tensor => linear(linearTanhGeglu(x, gateUp), down); // [rows, hidden]
}
