// Text architecture of BERT and RoBERTa: encoders, which serve embeddings only.

import { paddedHead } from '../../../kernels/resize-heads.ts';
import type { TextArchitecture, TextDeclaration } from '../blocks/architecture.ts';
import { BERT_MODEL_TYPES, readBertConfig, type BertConfig } from './bert-config.ts';
import { BERT_GGUF } from './bert-gguf.ts';
import { bert } from './bert.ts';

const EXAMPLES: Readonly<Record<string, string>> = {
  BertModel: 'BGE, E5, MiniLM, GTE',
  RobertaModel: 'all-roberta, all-distilroberta',
  XLMRobertaModel: 'multilingual-E5, BGE-M3',
};

export const BERT: TextArchitecture = {
  classes: [...BERT_MODEL_TYPES].map(([modelType, name]) => ({
    name,
    modelType,
    examples: EXAMPLES[name]!,
    serves: ['embed'],
  })),
  read: (json, className, file) => declare(readBertConfig(json, className, file)),
  gguf: BERT_GGUF,
};

function declare(config: BertConfig): TextDeclaration {
  const { architecture, vocabulary, hidden, heads, ffn, context } = config;
  return {
    architecture,
    vocabulary,
    hidden,
    context,
    ropes: [],
    inputs: { embeddings: true, positions: 1, attention: 'whole' },
    // A text is never computed in parts, so that all layers can use the pages of one layer in turn.
    layers: [{ kind: 'kv', kvHeads: heads, dims: paddedHead(hidden / heads), window: null, format: 'f32' }],
    widest: Math.max(ffn, 3 * heads * paddedHead(hidden / heads)),
    experts: null,
    tied: null,
    generate: null,
    embed: (weights) => bert(config, weights),
    states: null,
  };
}
