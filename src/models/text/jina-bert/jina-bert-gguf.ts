// GGUF files of JinaBERT. Older ones have the two halves of the feed-forward block in tensors of their own.

import type { GgufTensor } from '../../../files/gguf/gguf.ts';
import type { GgufClass, GgufPart } from '../../../files/gguf/model.ts';
import { rowsOf } from '../blocks/gguf-config.ts';

const TYPES = 'token_types.weight';
const OUTER: Readonly<Record<string, string>> = {
  'token_embd.weight': 'embeddings.word_embeddings.weight',
  [TYPES]: 'embeddings.token_type_embeddings.weight',
  'token_embd_norm.weight': 'embeddings.LayerNorm.weight',
  'token_embd_norm.bias': 'embeddings.LayerNorm.bias',
};
const IN_LAYER: Readonly<Record<string, string>> = {
  attn_q: 'attention.self.query',
  attn_k: 'attention.self.key',
  attn_v: 'attention.self.value',
  attn_q_norm: 'attention.self.layer_norm_q',
  attn_k_norm: 'attention.self.layer_norm_k',
  attn_output: 'attention.output.dense',
  attn_output_norm: 'attention.output.LayerNorm',
  attn_norm_2: 'layer_norm_1',
  ffn_gate: 'mlp.gated_layers_w',
};
/** Names that differ between the editions; the second has norms of queries. */
const FIRST: Readonly<Record<string, string>> = { ffn_down: 'mlp.wo', layer_output_norm: 'mlp.layernorm' };
const SECOND: Readonly<Record<string, string>> = {
  ffn_up: 'mlp.up_gated_layer',
  ffn_down: 'mlp.down_layer',
  layer_output_norm: 'layer_norm_2',
};
/** Keys of the configuration that say how tensors are named. */
const [EDITION, FFN] = ['second_edition', 'intermediate_size'];

export const JINA_BERT_GGUF: readonly GgufClass[] = [
  {
    name: 'jina-bert-v2',
    classNames: ['JinaBertModel'],
    async read(model) {
      const { keys, tensors } = model;
      const own = (key: string): string => `jina-bert-v2.${key}`;
      return {
        className: 'JinaBertModel',
        config: {
          vocab_size: rowsOf(model, 'token_embd.weight'),
          hidden_size: keys.count(own('embedding_length')),
          [FFN]: keys.count(own('feed_forward_length')),
          num_hidden_layers: keys.count(own('block_count')),
          num_attention_heads: keys.count(own('attention.head_count')),
          max_position_embeddings: keys.count(own('context_length')),
          type_vocab_size: tensors.get(TYPES)?.shape.length === 1 ? 1 : rowsOf(model, TYPES),
          layer_norm_eps: keys.real(own('attention.layer_norm_epsilon')),
          is_decoder: keys.flag(own('attention.causal'), false),
          position_embedding_type: 'alibi',
          feed_forward_type: 'geglu',
          [EDITION]: tensors.has('blk.0.attn_norm_2.weight'),
        },
      };
    },
    parts: jinaParts,
  },
];

function jinaParts(
  { name, shape }: Pick<GgufTensor, 'name' | 'shape'>,
  config: Readonly<Record<string, unknown>>,
): GgufPart[] | null {
  const outer = OUTER[name];
  // The converter stores one type of texts as a vector.
  if (outer !== undefined)
    return [{ name: outer, shape: name === TYPES && shape.length === 1 ? [1, ...shape] : shape }];
  const [, layer, module = '', kind] = /^blk\.(\d+)\.([a-z_0-9]+)\.(weight|bias)$/.exec(name) ?? [];
  if (layer === undefined) return null;
  const isWhole = shape[0] !== config[FFN];
  const first = module === 'ffn_up' ? (isWhole ? 'mlp.gated_layers' : 'mlp.gated_layers_v') : FIRST[module];
  const own = IN_LAYER[module] ?? (config[EDITION] === true ? SECOND[module] : first);
  return own === undefined ? null : [{ name: `encoder.layer.${layer}.${own}.${kind}`, shape }];
}
