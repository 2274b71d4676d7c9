// The decoder that Llama, Mistral, Qwen2, Qwen3 and their variants with experts share: norm, attention, norm, SwiGLU, with the
// residual stream in f32. Eight dispatches per layer without experts.

import type { Tensor } from '../../gpu/tensor.ts';
import { attention } from '../../kernels/attention.ts';
import { kvOf, type HeadNorms, type KvPages, type TextBatch } from '../../kernels/batch.ts';
import { embed } from '../../kernels/embed.ts';
import { linear, linearAdd, linearSwiglu } from '../../kernels/matmul.ts';
import { rmsnorm, rmsnormRows } from '../../kernels/rmsnorm.ts';
import { rmsnormColumns } from '../../kernels/rmsnorm-columns.ts';
import { ropeKv } from '../../kernels/rope-kv.ts';
import { rotations } from '../../kernels/rotations.ts';
import type { LanguageModel, TextForward } from './architecture.ts';
import { experts } from './experts.ts';
import type { LlamaConfig } from './llama-config.ts';
import type { WeightTable } from '../weights.ts';

export function llama(config: LlamaConfig, weights: WeightTable): LanguageModel {
  const { vocabulary, hidden, eps, tied } = config;
  const { embedding, name, run } = decoder(config, weights, config.windows.length);
  const norm = weights.vector(`${name}norm.weight`, hidden);
  const head = tied ? embedding : weights.matrix('lm_head.weight', vocabulary, hidden, { split: 'columns' });
  if (tied) weights.ignore(/^lm_head\.weight$/);

  return {
    states: run,
    head(x, { wanted, states }) {
      const last = rmsnormRows(x, norm, eps, wanted, 'sampled', states); // [sampled, hidden]
      return linear(last, head); //                               [sampled, vocabulary]
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
  const { vocabulary, hidden, windows, rope: turns } = config;
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
    let x = embed(tape, batch, embedding); //                     [rows, hidden]
    const rope = rotations(tape, batch, [turns], 0); //            [rows, dims]
    layers.forEach((block, i) => {
      x = block(x, rope, batch, kvOf(stores, i));
      tape.cut();
    });
    return x;
  };
  return { embedding, name, run };
}

type Block = (x: Tensor, rope: Tensor, batch: TextBatch, kv: KvPages) => Tensor;

function layer(
  config: LlamaConfig,
  weights: WeightTable,
  name: string,
  i: number,
  window: number | null,
): Block {
  const { hidden, eps } = config;
  const inputNorm = weights.vector(`${name}.input_layernorm.weight`, hidden);
  const attend = selfAttention(config, weights, `${name}.self_attn`, window);
  const postNorm = weights.vector(`${name}.post_attention_layernorm.weight`, hidden);
  const feedForward = config.experts?.layers[i]
    ? experts(hidden, config.experts, weights, `${name}.mlp`, sparseBefore(config, i))
    : mlp(config, weights, `${name}.mlp`);

  return (x, rope, batch, kv) => {
    x = attend(rmsnorm(x, inputNorm, eps), x, rope, batch, kv);
    return feedForward(rmsnorm(x, postNorm, eps), x, batch);
  };
}

/** Number of layers with experts before layer i. */
function sparseBefore({ experts }: LlamaConfig, i: number): number {
  return experts!.layers.slice(0, i).filter(Boolean).length;
}

function selfAttention(config: LlamaConfig, weights: WeightTable, name: string, window: number | null) {
  const { hidden, heads: shape, qkvBias, outBias } = config;
  const { heads, kvHeads, dims } = shape;
  const qkv = weights.stacked(
    [
      { name: `${name}.q_proj.weight`, rows: heads * dims },
      { name: `${name}.k_proj.weight`, rows: kvHeads * dims },
      { name: `${name}.v_proj.weight`, rows: kvHeads * dims },
    ],
    hidden,
    { bias: qkvBias, split: 'columns' },
  );
  const norms = queryNorms(config, weights, name);
  const out = weights.matrix(`${name}.o_proj.weight`, hidden, heads * dims, { bias: outBias, split: 'rows' });

  return (x: Tensor, residual: Tensor, rope: Tensor, batch: TextBatch, kv: KvPages): Tensor => {
    const y = norms.ofRow(linear(x, qkv)); //                     [rows, (heads + 2 · kvHeads) · dims]
    const q = ropeKv(y, rope, shape, kv, norms.ofHeads); // [rows, heads · dims]
    return linearAdd(attention(q, batch, shape, kv, { window }), out, residual); // [rows, hidden]
  };
}

/** Norms of queries and keys: one per head at the rotation, or one over all heads of a row before it. */
function queryNorms({ queryNorm, heads: shape, eps }: LlamaConfig, weights: WeightTable, name: string) {
  const none = { ofRow: (qkv: Tensor): Tensor => qkv, ofHeads: null };
  if (queryNorm === 'none') return none;
  const { heads, kvHeads, dims } = shape;
  const isRow = queryNorm === 'row';
  const q = weights.vector(`${name}.q_norm.weight`, isRow ? heads * dims : dims);
  const k = weights.vector(`${name}.k_norm.weight`, isRow ? kvHeads * dims : dims);
  const ofHeads: HeadNorms = { q, k, eps };
  if (!isRow) return { ...none, ofHeads };
  const ofRow = (qkv: Tensor): Tensor => rmsnormColumns(rmsnormColumns(qkv, 0, q, eps), heads * dims, k, eps);
  return { ...none, ofRow };
}

function mlp(config: LlamaConfig, weights: WeightTable, name: string) {
  const { hidden, ffn, mlpBias } = config;
  const gateUp = weights.gateUp(`${name}.gate_proj.weight`, `${name}.up_proj.weight`, ffn, hidden, {
    bias: mlpBias,
  });
  const down = weights.matrix(`${name}.down_proj.weight`, hidden, ffn, { bias: mlpBias, split: 'rows' });

  return (x: Tensor, residual: Tensor): Tensor => linearAdd(linearSwiglu(x, gateUp), down, residual); // [rows, hidden]
}
