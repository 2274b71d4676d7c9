// The encoder of BERT, RoBERTa and DistilBERT: every token attends to all tokens of its text, and a norm follows each residual sum. Eight
// dispatches per layer.

import type { Tensor } from '../../../gpu/tensor.ts';
import type { Activation } from '../../../kernels/activation.ts';
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

/** Names of the modules of a layer that norms follow. */
export interface BertLayerNames {
  out: string;
  attentionNorm: string;
  up: string;
  down: string;
  outputNorm: string;
}
interface LayerNames extends BertLayerNames {
  layers: string;
  qkv: readonly [string, string, string];
}
export const BERT_NAMES: LayerNames = {
  layers: 'encoder.layer',
  qkv: ['attention.self.query', 'attention.self.key', 'attention.self.value'],
  out: 'attention.output.dense',
  attentionNorm: 'attention.output.LayerNorm',
  up: 'intermediate.dense',
  down: 'output.dense',
  outputNorm: 'output.LayerNorm',
};
const NAMES: Readonly<Record<BertConfig['layout'], LayerNames>> = {
  bert: BERT_NAMES,
  roberta: BERT_NAMES,
  distilbert: {
    layers: 'transformer.layer',
    qkv: ['attention.q_lin', 'attention.k_lin', 'attention.v_lin'],
    out: 'attention.out_lin',
    attentionNorm: 'sa_layer_norm',
    up: 'ffn.lin1',
    down: 'ffn.lin2',
    outputNorm: 'output_layer_norm',
  },
};

/** Beginning of the names of all but the head. */
export function rootOf({ layout }: BertConfig, weights: WeightTable): string {
  const isHeadless = weights.has('embeddings.word_embeddings.weight');
  return isHeadless ? '' : `${layout}.`;
}

/** Normalized states of all rows, [rows, hidden]. All layers use the pages of store 0. */
export function bert(config: BertConfig, weights: WeightTable): TextForward {
  const { vocabulary, hidden, eps, firstPosition: first } = config;
  const root = rootOf(config, weights);
  const embedding = weights.embedding(`${root}embeddings.word_embeddings.weight`, vocabulary, hidden);
  const positions = weights.table(`${root}embeddings.position_embeddings.weight`, config.positions, hidden);
  const types =
    config.types > 0
      ? weights.table(`${root}embeddings.token_type_embeddings.weight`, config.types, hidden)
      : null;
  const norm = affine(weights, `${root}embeddings.LayerNorm`, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) => layer(config, weights, root, i));
  weights.ignore(/embeddings\.position_ids$|^([a-z]+\.)?pooler\.|^(cls|lm_head|vocab_\w+)\./);

  return (tape, batch, stores) => {
    const tokens = embed(tape, batch, embedding, { places: { positions, first, ...(types && { types }) } });
    let x = layernorm(tokens, norm, eps); //                     [rows, hidden]
    for (const run of layers) x = run(x, batch, kvOf(stores, 0));
    return x;
  };
}

function layer(config: BertConfig, weights: WeightTable, root: string, i: number) {
  const names = NAMES[config.layout];
  const name = `${root}${names.layers}.${i}`;
  return bertLayer(config, weights, name, names, selfAttention(config, weights, name));
}

/** `attend`: x [rows, hidden] → heads side by side [rows, hidden] */
export function bertLayer<Rest extends readonly unknown[]>(
  { hidden, ffn, eps, activation }: Pick<BertConfig, 'hidden' | 'ffn' | 'eps'> & { activation: Activation },
  weights: WeightTable,
  name: string,
  names: BertLayerNames,
  attend: (x: Tensor, ...rest: Rest) => Tensor,
) {
  const out = weights.matrix(`${name}.${names.out}.weight`, hidden, hidden, { bias: true, split: 'rows' });
  const norm1 = affine(weights, `${name}.${names.attentionNorm}`, hidden);
  const up = weights.matrix(`${name}.${names.up}.weight`, ffn, hidden, { bias: true, split: 'columns' });
  const down = weights.matrix(`${name}.${names.down}.weight`, hidden, ffn, { bias: true, split: 'rows' });
  const norm2 = affine(weights, `${name}.${names.outputNorm}`, hidden);

  return (x: Tensor, ...rest: Rest): Tensor => {
    x = layernorm(linearAdd(attend(x, ...rest), out, x), norm1, eps);
    x = layernorm(linearAdd(linear(x, up, { activation }), down, x), norm2, eps);
    x.tape!.cut();
    return x;
  };
}

function selfAttention({ hidden, heads, layout }: BertConfig, weights: WeightTable, name: string) {
  const shape = { heads, kvHeads: heads, dims: hidden / heads };
  const qkv = weights.stacked(
    NAMES[layout].qkv.map((part) => ({ name: `${name}.${part}.weight`, rows: hidden })),
    hidden,
    { bias: true, split: 'columns' },
  );
  return (x: Tensor, batch: TextBatch, kv: KvPages): Tensor => {
    const q = ropeKv(linear(x, qkv), null, shape, kv, null); //  [rows, hidden]
    return attention(q, batch, shape, kv, { window: null });
  };
}
