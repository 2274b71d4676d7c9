// The encoder of BERT and RoBERTa: every token sees every other, and a norm follows each sum. Seven dispatches a layer.

import type { Tape } from '../../gpu/tape.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { attend } from '../../kernels/attend.ts';
import { embedTokens } from '../../kernels/embed-tokens.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { affine } from '../affine.ts';
import type { BertConfig } from './bert-config.ts';
import type { WeightTable } from '../weights.ts';

export interface BertInputs {
  /** u32 [batch, tokens] */
  ids: Tensor;
  /** u32 [batch]: tokens of each text; what lies beyond is masked. */
  counts: Tensor;
}

/** → [batch, tokens, hidden] */
export type BertForward = (tape: Tape, inputs: BertInputs) => Tensor;

export function bert(config: BertConfig, weights: WeightTable): BertForward {
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

  return (tape, { ids, counts }) => {
    const tokens = embedTokens(tape, ids, embedding, { positions, first, types });
    let x = layernorm(tokens, norm, eps); //                     [batch, tokens, hidden]
    for (const run of layers) x = run(x, counts);
    return x;
  };
}

function layer(config: BertConfig, weights: WeightTable, name: string) {
  const { hidden, ffn, eps, activation } = config;
  const attention = selfAttention(config, weights, `${name}.attention`);
  const norm1 = affine(weights, `${name}.attention.output.LayerNorm`, hidden);
  const up = weights.matrix(`${name}.intermediate.dense.weight`, ffn, hidden, {
    bias: true,
    split: 'columns',
  });
  const down = weights.matrix(`${name}.output.dense.weight`, hidden, ffn, { bias: true, split: 'rows' });
  const norm2 = affine(weights, `${name}.output.LayerNorm`, hidden);

  return (x: Tensor, counts: Tensor): Tensor => {
    x = layernorm(attention(x, counts), norm1, eps);
    x = layernorm(linearAdd(linear(x, up, { activation }), down, x), norm2, eps);
    x.tape!.cut();
    return x;
  };
}

function selfAttention({ hidden, heads }: BertConfig, weights: WeightTable, name: string) {
  const dims = hidden / heads;
  const qkv = weights.stacked(
    ['query', 'key', 'value'].map((part) => ({ name: `${name}.self.${part}.weight`, rows: hidden })),
    hidden,
    { bias: true, split: 'columns' },
  );
  const out = weights.matrix(`${name}.output.dense.weight`, hidden, hidden, { bias: true, split: 'rows' });

  return (x: Tensor, keyCounts: Tensor): Tensor => {
    const y = linear(x, qkv); //                                 [batch, tokens, 3 · hidden]
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * hidden }));
    return linearAdd(attend(q!, k!, v!, { heads, dims, keyCounts }), out, x);
  };
}
