// Configurations of JinaBERT as they are published, and what is refused.

import { expect, it } from 'vitest';
import { readJinaBertConfig } from '../../../../src/models/text/jina-bert/jina-bert-config.ts';

/** jina-embeddings-v2-small-en. */
const SMALL = {
  architectures: ['JinaBertForMaskedLM'],
  attention_probs_dropout_prob: 0,
  classifier_dropout: null,
  emb_pooler: 'mean',
  feed_forward_type: 'geglu',
  gradient_checkpointing: false,
  hidden_act: 'gelu',
  hidden_size: 512,
  intermediate_size: 2048,
  layer_norm_eps: 1e-12,
  max_position_embeddings: 8192,
  model_max_length: 8192,
  model_type: 'bert',
  num_attention_heads: 8,
  num_hidden_layers: 4,
  pad_token_id: 0,
  position_embedding_type: 'alibi',
  type_vocab_size: 2,
  use_cache: true,
  vocab_size: 30528,
};

it('the published configuration is read', () => {
  expect(readJinaBertConfig(SMALL, 'JinaBertModel')).toMatchObject({
    ...{ hidden: 512, heads: 8, ffn: 2048, layers: 4, context: 8192, types: 2, slopes: 8, outputs: null },
  });
});

it.each([
  [{ position_embedding_type: 'absolute' }, /position_embedding_type "absolute" is not built/],
  [{ position_embedding_type: undefined }, /position_embedding_type is missing, which is not built/],
  [{ feed_forward_type: 'reglu' }, /feed_forward_type "reglu" is not built; .* has geglu/],
  [{ is_decoder: true }, /is_decoder/],
])('%j is refused', (changes, message) => {
  expect(() => readJinaBertConfig({ ...SMALL, ...changes }, 'JinaBertModel')).toThrow(message);
});
