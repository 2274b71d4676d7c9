// The decoder that Llama, Mistral, Qwen, Phi-3, SmolLM3, Granite and those of them with experts share: norm, attention, norm, gated
// feed-forward, with the residual stream in f32. Eight dispatches per layer without experts.

import type { Tensor } from '../../gpu/tensor.ts';
import { kvOf, type KvPages, type TextBatch } from '../../kernels/batch.ts';
import { embed } from '../../kernels/embed.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { rmsnorm, rmsnormRows } from '../../kernels/rmsnorm.ts';
import { rotations } from '../../kernels/rotations.ts';
import { scale } from '../../kernels/scale.ts';
import type { LanguageModel, TextForward } from './architecture.ts';
import { experts } from './experts.ts';
import { gatedMlp } from './gated-mlp.ts';
import type { LlamaConfig } from './llama-config.ts';
import { selfAttention } from './self-attention.ts';
import type { WeightTable } from '../weights.ts';

export function llama(config: LlamaConfig, weights: WeightTable): LanguageModel {
  const { vocabulary, hidden, eps, tied, logitScale } = config;
  const { embedding, name, run } = decoder(config, weights, config.windows.length);
  const norm = weights.vector(`${name}norm.weight`, hidden);
  const head = tied ? embedding : weights.matrix('lm_head.weight', vocabulary, hidden, { split: 'columns' });
  if (tied) weights.ignore(/^lm_head\.weight$/);

  return {
    states: run,
    head(x, { wanted, states }) {
      const last = rmsnormRows(x, norm, eps, wanted, 'sampled', states); // [sampled, hidden]
      const logits = linear(last, head); //                             [sampled, vocabulary]
      return logitScale === 1 ? logits : scale(logits, logitScale);
    },
  };
}

/** Normalized states of all rows, [rows, hidden]. */
export function llamaNormed(config: LlamaConfig, weights: WeightTable): TextForward {
  const { name, run } = decoder(config, weights, config.windows.length);
  const norm = weights.vector(`${name}norm.weight`, config.hidden);
  weights.ignore(/^lm_head\.weight$/);
  return (tape, batch, stores) => rmsnorm(run(tape, batch, stores), norm, config.eps);
}

/** States of all rows after the first `depth` layers, [rows, hidden], for image models that use them as text conditions. */
export function llamaStates(config: LlamaConfig, weights: WeightTable, depth: number): TextForward {
  const { name, run } = decoder(config, weights, depth);
  config.windows.forEach((_, i) => {
    if (i >= depth) weights.ignore(new RegExp(`^${name}layers\\.${i}\\.`));
  });
  weights.ignore(/^(model\.)?norm\.weight$|^lm_head\.weight$/);
  return run;
}

/** The layers up to `depth`. A decoder saved without its head has no prefix in its tensor names. */
function decoder(config: LlamaConfig, weights: WeightTable, depth: number) {
  const { vocabulary, hidden, windows, rope: turns, rotates, embeddingScale } = config;
  const name = weights.has('embed_tokens.weight') ? '' : 'model.';
  const own = `${name}embed_tokens.weight`;
  // Tied head and embedding are stored once, under either name.
  const isHead = config.tied && !weights.has(own) && weights.has('lm_head.weight');
  const embedding = weights.embedding(isHead ? 'lm_head.weight' : own, vocabulary, hidden);
  const layers = windows
    .slice(0, depth)
    .map((window, i) => layer(config, weights, `${name}layers.${i}`, i, window));
  weights.ignore(/rotary_emb\.inv_freq$/);

  const run: TextForward = (tape, batch, stores) => {
    let x = embed(tape, batch, embedding, { scale: embeddingScale }); // [rows, hidden]
    const rope = rotations(tape, batch, [turns], 0); //                  [rows, dims]
    layers.forEach((block, i) => {
      x = block(x, rotates[i] ? rope : null, batch, kvOf(stores, i));
      tape.cut();
    });
    return x;
  };
  return { embedding, name, run };
}

type Block = (x: Tensor, rope: Tensor | null, batch: TextBatch, kv: KvPages) => Tensor;

function layer(
  config: LlamaConfig,
  weights: WeightTable,
  name: string,
  i: number,
  window: number | null,
): Block {
  const { hidden, eps } = config;
  const inputNorm = weights.vector(`${name}.input_layernorm.weight`, hidden);
  const { attend, out } = selfAttention(config, weights, `${name}.self_attn`, { window });
  const postNorm = weights.vector(`${name}.post_attention_layernorm.weight`, hidden);
  const feedForward = config.experts?.layers[i]
    ? experts(hidden, config.experts, weights, name, sparseBefore(config, i))
    : mlp(config, weights, `${name}.mlp`);

  return (x, rope, batch, kv) => {
    x = linearAdd(attend(rmsnorm(x, inputNorm, eps), rope, batch, kv), out, x);
    return feedForward(rmsnorm(x, postNorm, eps), x, batch);
  };
}

/** Number of layers with experts before layer i. */
function sparseBefore({ experts }: LlamaConfig, i: number): number {
  return experts!.layers.slice(0, i).filter(Boolean).length;
}

function mlp(config: LlamaConfig, weights: WeightTable, name: string) {
  const { gate, down } = gatedMlp(config, weights, name);
  return (x: Tensor, residual: Tensor): Tensor => linearAdd(gate(x), down, residual); // [rows, hidden]
}
