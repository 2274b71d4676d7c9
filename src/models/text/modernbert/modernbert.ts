// The encoder of ModernBERT: norms before each block, rotated heads, windows to both sides in most layers, gated feed-forward; and its head
// for labels.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attention } from '../../../kernels/attention.ts';
import { kvOf, type KvPages, type TextBatch } from '../../../kernels/batch.ts';
import { embed } from '../../../kernels/embed.ts';
import { linear, linearAdd, linearGatedGelu } from '../../../kernels/matmul.ts';
import { meanRows } from '../../../kernels/mean-rows.ts';
import { ropeKv } from '../../../kernels/rope-kv.ts';
import { rotations } from '../../../kernels/rotations.ts';
import type { WeightTable } from '../../weights.ts';
import type { TextForward } from '../blocks/architecture.ts';
import { norm } from '../blocks/norm.ts';
import type { TextOutputs } from '../blocks/outputs.ts';
import type { ModernBertConfig } from './modernbert-config.ts';

const EMBEDDING = 'embeddings.tok_embeddings.weight';

/** Normalized states of all rows, [rows, hidden]. All layers use the pages of store 0. */
export function modernBert(config: ModernBertConfig, weights: WeightTable): TextForward {
  const { vocabulary, hidden, ropes, windows } = config;
  const root = weights.has(EMBEDDING) ? '' : 'model.';
  const embedding = weights.embedding(`${root}${EMBEDDING}`, vocabulary, hidden);
  const first = normOf(config, weights, `${root}embeddings.norm`);
  const layers = windows.map((_, i) => layer(config, weights, `${root}layers.${i}`, i));
  const last = normOf(config, weights, `${root}final_norm`);
  weights.ignore(/^(head|decoder|classifier)\.|rotary_emb\.inv_freq$/);

  return (tape, batch, stores) => {
    let x = first.all(embed(tape, batch, embedding)); //                    [rows, hidden]
    const turns = ropes.map((_, i) => rotations(tape, batch, ropes, i)); // [rows, dims] each
    layers.forEach((run, i) => {
      x = run(x, turns[windows[i] === null ? 0 : 1]!, batch, kvOf(stores, 0));
      tape.cut();
    });
    return last.all(x);
  };
}

function normOf({ hidden, eps, normBias }: ModernBertConfig, weights: WeightTable, name: string) {
  return norm(weights, name, hidden, { kind: normBias ? 'layer' : 'layer-weight', eps });
}

function layer(config: ModernBertConfig, weights: WeightTable, name: string, i: number) {
  const { hidden, ffn, heads, attentionBias, mlpBias } = config;
  const window = config.windows[i]!;
  const shape = { heads, kvHeads: heads, dims: hidden / heads };
  // The first layer reads the normalized embeddings.
  const attentionNorm = i === 0 ? null : normOf(config, weights, `${name}.attn_norm`);
  const qkv = weights.matrix(`${name}.attn.Wqkv.weight`, 3 * hidden, hidden, { bias: attentionBias });
  const out = weights.matrix(`${name}.attn.Wo.weight`, hidden, hidden, { bias: attentionBias });
  const mlpNorm = normOf(config, weights, `${name}.mlp_norm`);
  const gateUp = weights.halves(`${name}.mlp.Wi.weight`, ffn, hidden, { bias: mlpBias });
  const down = weights.matrix(`${name}.mlp.Wo.weight`, hidden, ffn, { bias: mlpBias });

  return (x: Tensor, rope: Tensor, batch: TextBatch, kv: KvPages): Tensor => {
    const y = linear(attentionNorm?.all(x) ?? x, qkv); //          [rows, 3 · hidden]
    const q = ropeKv(y, rope, shape, kv, null, batch); //          [rows, hidden]
    const mixed = attention(q, batch, shape, kv, { window, bothSides: true });
    x = linearAdd(mixed, out, x);
    return linearAdd(linearGatedGelu(mlpNorm.all(x), gateUp), down, x);
  };
}

/** Values of each text [sampled, labels], or of each token [rows, labels]. */
export function modernBertHead(
  config: ModernBertConfig,
  { labels, per }: TextOutputs,
  weights: WeightTable,
): TextForward {
  const { hidden, classifierBias: bias, classifierActivation: activation } = config;
  const states = modernBert(config, weights);
  const dense = weights.matrix('head.dense.weight', hidden, hidden, { bias });
  const headNorm = normOf(config, weights, 'head.norm');
  const out = weights.matrix('classifier.weight', labels.length, hidden, { bias: true });
  return (tape, batch, stores) => {
    const all = states(tape, batch, stores); //                    [rows, hidden]
    const x = per === 'token' ? all : meanRows(all, batch.pooled);
    return linear(headNorm.all(linear(x, dense, { activation })), out);
  };
}
