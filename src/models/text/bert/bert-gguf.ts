// GGUF files of BERT and of RoBERTa, whose positions up to the padding token's the converter leaves out, so that both are BERT.

import type { GgufTensor } from '../../../files/gguf/gguf.ts';
import type { GgufClass, GgufModel, GgufPart } from '../../../files/gguf/model.ts';
import { ggufLabels, rowsOf } from '../blocks/gguf-config.ts';

const OUTER: Readonly<Record<string, string>> = {
  'token_embd.weight': 'embeddings.word_embeddings.weight',
  'position_embd.weight': 'embeddings.position_embeddings.weight',
  'token_types.weight': 'embeddings.token_type_embeddings.weight',
  'token_embd_norm.weight': 'embeddings.LayerNorm.weight',
  'token_embd_norm.bias': 'embeddings.LayerNorm.bias',
};
const IN_LAYER: Readonly<Record<string, string>> = {
  attn_q: 'attention.self.query',
  attn_k: 'attention.self.key',
  attn_v: 'attention.self.value',
  attn_output: 'attention.output.dense',
  attn_output_norm: 'attention.output.LayerNorm',
  ffn_up: 'intermediate.dense',
  ffn_down: 'output.dense',
  layer_output_norm: 'output.LayerNorm',
};
const TYPES = 'token_types.weight';
/** The two matrices of a head for texts, as those of BERT: RoBERTa's, of which the converter keeps both, compute the same. */
const HEAD: Readonly<Record<string, string>> = {
  'cls.weight': 'pooler.dense.weight',
  'cls.bias': 'pooler.dense.bias',
  'cls.output.weight': 'classifier.weight',
  'cls.output.bias': 'classifier.bias',
};

export const BERT_GGUF: readonly GgufClass[] = [
  {
    name: 'bert',
    classNames: ['BertModel', 'BertForSequenceClassification'],
    async read(model) {
      const { keys, architecture, tensors } = model;
      const own = (key: string): string => `${architecture}.${key}`;
      const isHeaded = tensors.has('cls.output.weight');
      if (isHeaded && !tensors.has('cls.weight'))
        throw keys.unsupported(
          own('classifier.output_labels'),
          'the converter left out one of the two matrices of the head: open the checkpoint from which the file was made',
        );
      return {
        className: isHeaded ? 'BertForSequenceClassification' : 'BertModel',
        config: {
          ...(isHeaded && { id2label: ggufLabels(model) }),
          vocab_size: rowsOf(model, 'token_embd.weight'),
          hidden_size: keys.count(own('embedding_length')),
          intermediate_size: keys.count(own('feed_forward_length')),
          num_hidden_layers: keys.count(own('block_count')),
          num_attention_heads: keys.count(own('attention.head_count')),
          max_position_embeddings: rowsOf(model, 'position_embd.weight'),
          type_vocab_size: typesOf(model),
          layer_norm_eps: keys.real(own('attention.layer_norm_epsilon')),
          is_decoder: keys.flag(own('attention.causal'), false),
        },
      };
    },
    parts: bertParts,
  },
];

/** Types of texts. */
function typesOf(model: GgufModel): number {
  const rows = rowsOf(model, TYPES);
  return model.tensors.get(TYPES)!.shape.length === 1 ? 1 : rows;
}

function bertParts(
  { name, shape }: Pick<GgufTensor, 'name' | 'shape'>,
  config: Readonly<Record<string, unknown>>,
): GgufPart[] | null {
  const ofHead = HEAD[name];
  if (ofHead !== undefined) return config['id2label'] === undefined ? [] : [{ name: ofHead, shape }];
  const outer = OUTER[name];
  // The converter stores one type of texts as a vector.
  const isSingle = name === TYPES && shape.length === 1;
  if (outer !== undefined) return [{ name: outer, shape: isSingle ? [1, ...shape] : shape }];
  const [, layer, module, kind] = /^blk\.(\d+)\.([a-z_]+)\.(weight|bias)$/.exec(name) ?? [];
  if (layer === undefined) return null;
  const prefix = `encoder.layer.${layer}`;
  if (module === 'attn_qkv' && shape[0]! % 3 === 0) {
    const rows = shape[0]! / 3;
    return ['query', 'key', 'value'].map((part, nth) => ({
      name: `${prefix}.attention.self.${part}.${kind}`,
      shape: [rows, ...shape.slice(1)],
      firstRow: nth * rows,
    }));
  }
  const own = IN_LAYER[module!];
  return own === undefined ? null : [{ name: `${prefix}.${own}.${kind}`, shape }];
}
