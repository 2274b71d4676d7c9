// The encoder of JinaBERT: BERT without positions, whose scores fall with the distance of two tokens (ALiBi), and with gated feed-forward
// blocks. A norm follows each residual sum. The second edition (for code) has norms of queries and keys, and adds a block's input twice.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attention } from '../../../kernels/attention.ts';
import { kvOf, type KvPages, type TextBatch } from '../../../kernels/batch.ts';
import { concat } from '../../../kernels/concat.ts';
import { embed } from '../../../kernels/embed.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear, linearAdd, linearGatedGelu, linearGeglu } from '../../../kernels/matmul.ts';
import { ropeKv } from '../../../kernels/rope-kv.ts';
import { scaledAdd } from '../../../kernels/scaled-add.ts';
import { affine } from '../../affine.ts';
import type { WeightTable } from '../../weights.ts';
import type { TextForward } from '../blocks/architecture.ts';
import type { JinaBertConfig } from './jina-bert-config.ts';

const EMBEDDING = 'embeddings.word_embeddings.weight';

/** Beginning of the names of all but the head. */
export const rootOf = (weights: WeightTable): string => (weights.has(EMBEDDING) ? '' : 'bert.');

/** Normalized states of all rows, [rows, hidden]. All layers use the pages of store 0. */
export function jinaBert(config: JinaBertConfig, weights: WeightTable): TextForward {
  const { vocabulary, hidden, eps } = config;
  const root = rootOf(weights);
  const embedding = weights.embedding(`${root}${EMBEDDING}`, vocabulary, hidden);
  const types = weights.table(`${root}embeddings.token_type_embeddings.weight`, config.types, hidden);
  const norm = affine(weights, `${root}embeddings.LayerNorm`, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    layer(config, weights, `${root}encoder.layer.${i}`),
  );
  weights.ignore(/embeddings\.position_ids$|^(bert\.)?pooler\.|^(cls|classifier)\./);

  return (tape, batch, stores) => {
    let x = layernorm(embed(tape, batch, embedding, { places: { types } }), norm, eps); // [rows, hidden]
    for (const run of layers) x = run(x, batch, kvOf(stores, 0));
    return x;
  };
}

function layer(config: JinaBertConfig, weights: WeightTable, name: string) {
  const { hidden, eps } = config;
  const attend = selfAttention(config, weights, `${name}.attention.self`);
  const out = weights.matrix(`${name}.attention.output.dense.weight`, hidden, hidden, { bias: true });
  const outNorm = affine(weights, `${name}.attention.output.LayerNorm`, hidden);
  const isSecond = weights.has(`${name}.layer_norm_1.weight`);
  const again = isSecond ? affine(weights, `${name}.layer_norm_1`, hidden) : null;
  const feed = feedForward(config, weights, `${name}.mlp`, isSecond);
  const last = affine(weights, isSecond ? `${name}.layer_norm_2` : `${name}.mlp.layernorm`, hidden);

  return (x: Tensor, batch: TextBatch, kv: KvPages): Tensor => {
    const mixed = attend(x, batch, kv); //                                        [rows, hidden]
    const sum = again ? scaledAdd(linear(mixed, out), 1, x) : linearAdd(mixed, out, x);
    const y = layernorm(sum, outNorm, eps);
    x = again ? layernorm(scaledAdd(y, 1, x), again, eps) : y;
    x = layernorm(feed(x), last, eps);
    x.tape!.cut();
    return x;
  };
}

/** x [rows, hidden] → heads side by side [rows, hidden] */
function selfAttention({ hidden, heads, eps, slopes }: JinaBertConfig, weights: WeightTable, name: string) {
  const shape = { heads, kvHeads: heads, dims: hidden / heads };
  const project = projections(hidden, eps, weights, name);
  return (x: Tensor, batch: TextBatch, kv: KvPages): Tensor => {
    const q = ropeKv(project(x), null, shape, kv, null); //       [rows, hidden]
    return attention(q, batch, shape, kv, { window: null, slopes });
  };
}

/** x [rows, hidden] → queries, keys and values [rows, 3 · hidden]; queries and keys are normed as whole rows where they have norms. */
function projections(hidden: number, eps: number, weights: WeightTable, name: string): (x: Tensor) => Tensor {
  const norms = ['layer_norm_q', 'layer_norm_k'].map((norm) => `${name}.${norm}`);
  const parts = ['query', 'key', 'value'].map((part) => ({ name: `${name}.${part}.weight`, rows: hidden }));
  if (!weights.has(`${norms[0]}.weight`)) {
    const qkv = weights.stacked(parts, hidden, { bias: true });
    return (x) => linear(x, qkv);
  }
  const matrices = parts.map((part) => weights.stacked([part], hidden, { bias: true }));
  const affines = norms.map((norm) => affine(weights, norm, hidden));
  return (x) =>
    matrices
      .map((matrix, i) => {
        const y = linear(x, matrix);
        return affines[i] ? layernorm(y, affines[i], eps) : y;
      })
      .reduce((all, y) => concat(all, y));
}

/** x + block(x); the gate is the first half of its matrix, in the second edition the other one. */
function feedForward(
  { hidden, ffn }: JinaBertConfig,
  weights: WeightTable,
  name: string,
  isSecond: boolean,
): (x: Tensor) => Tensor {
  const [halves, down] = isSecond ? ['up_gated_layer', 'down_layer'] : ['gated_layers', 'wo'];
  // GGUF files may have the halves in tensors of their own.
  const [gate, up] = ['w', 'v'].map((half) => `${name}.gated_layers_${half}.weight`) as [string, string];
  const pair = weights.has(gate)
    ? weights.gateUp(gate, up, ffn, hidden)
    : weights.halves(`${name}.${halves}.weight`, ffn, hidden);
  const back = weights.matrix(`${name}.${down}.weight`, hidden, ffn, { bias: true });
  const unit = isSecond ? linearGeglu : linearGatedGelu;
  return (x) => linearAdd(unit(x, pair), back, x);
}
