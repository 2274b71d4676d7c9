// The encoder of BERT and RoBERTa: every token attends to all tokens of its text, and a norm follows each residual sum. Eight
// dispatches per layer.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attention } from '../../../kernels/attention.ts';
import { kvOf, type KvPages, type TextBatch } from '../../../kernels/batch.ts';
import { embed } from '../../../kernels/embed.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { ropeKv } from '../../../kernels/rope-kv.ts';
import { affine } from '../../affine.ts';
import type { TextForward } from '../blocks/architecture.ts';
import type { BertConfig } from './bert-config.ts';
import type { WeightTable } from '../../weights.ts';

/** Normalized states of all rows, [rows, hidden]. All layers use the pages of store 0. */
export function bert(config: BertConfig, weights: WeightTable): TextForward {
  const { vocabulary, hidden, eps, firstPosition: first } = config;
  const name = ['', 'bert.', 'roberta.'].find((prefix) =>
    weights.has(`${prefix}embeddings.word_embeddings.weight`),
  );
  const root = name ?? '';
  const embedding = weights.embedding(`${root}embeddings.word_embeddings.weight`, vocabulary, hidden);
  const positions = weights.table(`${root}embeddings.position_embeddings.weight`, config.positions, hidden);
  const types = weights.table(`${root}embeddings.token_type_embeddings.weight`, config.types, hidden);
  const norm = affine(weights, `${root}embeddings.LayerNorm`, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    layer(config, weights, `${root}encoder.layer.${i}`),
  );
  weights.ignore(/embeddings\.position_ids$|^([a-z]+\.)?pooler\.|^(cls|lm_head)\./);

  return (tape, batch, stores) => {
    const tokens = embed(tape, batch, embedding, { places: { positions, first, types } });
    let x = layernorm(tokens, norm, eps); //                     [rows, hidden]
    for (const run of layers) x = run(x, batch, kvOf(stores, 0));
    return x;
  };
}

function layer(config: BertConfig, weights: WeightTable, name: string) {
  const { hidden, ffn, eps, activation } = config;
  const attend = selfAttention(config, weights, `${name}.attention`);
  const norm1 = affine(weights, `${name}.attention.output.LayerNorm`, hidden);
  const up = weights.matrix(`${name}.intermediate.dense.weight`, ffn, hidden, {
    bias: true,
    split: 'columns',
  });
  const down = weights.matrix(`${name}.output.dense.weight`, hidden, ffn, { bias: true, split: 'rows' });
  const norm2 = affine(weights, `${name}.output.LayerNorm`, hidden);

  return (x: Tensor, batch: TextBatch, kv: KvPages): Tensor => {
    x = layernorm(attend(x, batch, kv), norm1, eps);
    x = layernorm(linearAdd(linear(x, up, { activation }), down, x), norm2, eps);
    x.tape!.cut();
    return x;
  };
}

function selfAttention({ hidden, heads }: BertConfig, weights: WeightTable, name: string) {
  const shape = { heads, kvHeads: heads, dims: hidden / heads };
  const qkv = weights.stacked(
    ['query', 'key', 'value'].map((part) => ({ name: `${name}.self.${part}.weight`, rows: hidden })),
    hidden,
    { bias: true, split: 'columns' },
  );
  const out = weights.matrix(`${name}.output.dense.weight`, hidden, hidden, { bias: true, split: 'rows' });

  return (x: Tensor, batch: TextBatch, kv: KvPages): Tensor => {
    const q = ropeKv(linear(x, qkv), null, shape, kv, null); //  [rows, hidden]
    return linearAdd(attention(q, batch, shape, kv, { window: null }), out, x);
  };
}
