// Converts config.json of the BERT, RoBERTa and DistilBERT families to the configuration of bert.ts. Only this file knows their key names.

import { CONFIG_JSON, checkHeads, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import { ACTIVATIONS } from '../blocks/activation-names.ts';
import { withSharedKeys } from '../blocks/decoder-config.ts';
import { headOf, readOutputs, type TextOutputs } from '../blocks/outputs.ts';

/** By what the families differ. */
interface BertFamily {
  modelType: string;
  /** Beginning of the classes' names. */
  className: string;
  /** Published embedding models. */
  examples: string;
  /** Published models with a head for texts. */
  judges: string;
  layout: 'bert' | 'roberta' | 'distilbert';
}

export const BERT_FAMILIES: readonly BertFamily[] = [
  {
    modelType: 'bert',
    className: 'Bert',
    examples: 'BGE, E5, MiniLM, GTE, Snowflake Arctic Embed',
    judges: 'ms-marco-MiniLM',
    layout: 'bert',
  },
  {
    modelType: 'roberta',
    className: 'Roberta',
    examples: 'all-roberta, all-distilroberta',
    judges: 'stsb-roberta, quora-roberta',
    layout: 'roberta',
  },
  {
    modelType: 'xlm-roberta',
    className: 'XLMRoberta',
    examples: 'multilingual-E5, BGE-M3, Snowflake Arctic Embed L 2.0',
    judges: 'bge-reranker',
    layout: 'roberta',
  },
  {
    modelType: 'camembert',
    className: 'Camembert',
    examples: 'sentence-camembert',
    judges: 'mmarco-camemberta',
    layout: 'roberta',
  },
  {
    modelType: 'distilbert',
    className: 'DistilBert',
    examples: 'msmarco-distilbert',
    judges: 'distilbert-sst2',
    layout: 'distilbert',
  },
];

/** DistilBERT's names of settings, by BERT's. Its positions are learned in all checkpoints, whatever sinusoidal_pos_embds says. */
const DISTILBERT_KEYS = {
  hidden_size: 'dim',
  intermediate_size: 'hidden_dim',
  num_attention_heads: 'n_heads',
  num_hidden_layers: 'n_layers',
  hidden_act: 'activation',
} as const;

export type BertConfig = ReturnType<typeof readBertConfig>;

export function readBertConfig(json: Json, architecture: string, given = CONFIG_JSON) {
  const { layout } = BERT_FAMILIES.find(({ className }) => isOf(architecture, className))!;
  const [values, file] = withSharedKeys(json, given, layout === 'distilbert' ? DISTILBERT_KEYS : {});
  const config = readConfig(file, values);
  config.only({ position_embedding_type: ['absolute'], is_decoder: [false] });
  const hidden = config.count('hidden_size', 768);
  const positions = config.count('max_position_embeddings', 512);
  const firstPosition = layout === 'roberta' ? config.count('pad_token_id', 1) + 1 : 0;
  if (positions <= firstPosition) {
    throw config.error(
      'bad_checkpoint',
      'max_position_embeddings',
      `is ${positions}, and the positions up to pad_token_id ${firstPosition - 1} are for padding: take the values that the model was published with`,
    );
  }
  return {
    architecture,
    layout,
    vocabulary: config.count('vocab_size'),
    /** Rows of the position table. */
    positions,
    /** Row of the position table for a text's first token; RoBERTa reserves the rows up to that of its padding token. */
    firstPosition,
    /** Number of token types; 0: tokens have none. */
    types: layout === 'distilbert' ? 0 : config.count('type_vocab_size', 2),
    hidden,
    ffn: config.count('intermediate_size', 3072),
    heads: checkHeads(given.name, hidden, config.count('num_attention_heads', 12), 2),
    layers: config.count('num_hidden_layers', layout === 'distilbert' ? 6 : 12),
    eps: layout === 'distilbert' ? 1e-12 : config.real('layer_norm_eps', 1e-12),
    activation: config.choice('hidden_act', ACTIVATIONS, 'gelu'),
    /** Maximum tokens of one text. */
    context: positions - firstPosition,
    outputs: outputsOf(config, architecture),
  };
}

/** null: states. */
function outputsOf(config: ConfigReader, architecture: string): TextOutputs | null {
  const head = headOf(architecture);
  return head && readOutputs(config, head, 'cls');
}

/** BertModel, BertForSequenceClassification. */
const isOf = (architecture: string, className: string): boolean =>
  architecture.startsWith(className) && /^(Model|For)/.test(architecture.slice(className.length));
