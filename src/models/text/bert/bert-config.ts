// Converts config.json of the BERT and RoBERTa families to the configuration of bert.ts. Only this file knows their key names.

import { CONFIG_JSON, checkHeads, readConfig, type Json } from '../../config-values.ts';

/** model_type → class, for a config.json without `architectures`. */
export const BERT_MODEL_TYPES: ReadonlyMap<string, string> = new Map([
  ['bert', 'BertModel'],
  ['roberta', 'RobertaModel'],
  ['xlm-roberta', 'XLMRobertaModel'],
]);

const ACTIVATIONS = {
  gelu: 'gelu',
  gelu_new: 'gelu-tanh',
  gelu_pytorch_tanh: 'gelu-tanh',
  silu: 'silu',
} as const;

export type BertConfig = ReturnType<typeof readBertConfig>;

export function readBertConfig(json: Json, architecture: string, file = CONFIG_JSON) {
  const config = readConfig(file, json);
  config.only({ position_embedding_type: ['absolute'], is_decoder: [false] });
  const hidden = config.count('hidden_size', 768);
  const positions = config.count('max_position_embeddings', 512);
  // RoBERTa reserves the rows up to that of its padding token.
  const firstPosition = architecture === 'BertModel' ? 0 : config.count('pad_token_id', 1) + 1;
  if (positions <= firstPosition) {
    throw config.error(
      'bad_checkpoint',
      'max_position_embeddings',
      `is ${positions}, and the positions up to pad_token_id ${firstPosition - 1} are for padding: take the values that the model was published with`,
    );
  }
  return {
    architecture,
    vocabulary: config.count('vocab_size'),
    /** Rows of the position table. */
    positions,
    /** Row of the position table for a text's first token. */
    firstPosition,
    /** Number of token types; every text uses the first. */
    types: config.count('type_vocab_size', 2),
    hidden,
    ffn: config.count('intermediate_size', 3072),
    heads: checkHeads(file.name, hidden, config.count('num_attention_heads', 12), 2),
    layers: config.count('num_hidden_layers', 12),
    eps: config.real('layer_norm_eps', 1e-12),
    activation: config.choice('hidden_act', ACTIVATIONS, 'gelu'),
    /** Maximum tokens of one text. */
    context: positions - firstPosition,
  };
}
