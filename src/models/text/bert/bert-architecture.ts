// Text architecture of BERT, RoBERTa and DistilBERT: encoders, which serve embeddings, classification and ranking.

import { paddedHead } from '../../../kernels/resize-heads.ts';
import type { TextArchitecture, TextClass, TextDeclaration } from '../blocks/architecture.ts';
import { BERT_FAMILIES, readBertConfig, type BertConfig } from './bert-config.ts';
import { BERT_GGUF } from './bert-gguf.ts';
import { bertHead } from './bert-heads.ts';
import { bert } from './bert.ts';

const serves = ['embed'] as const;

export const BERT: TextArchitecture = {
  classes: BERT_FAMILIES.flatMap(({ className, modelType, examples, judges }): TextClass[] => [
    { name: `${className}Model`, modelType, examples, serves },
    { name: `${className}ForSequenceClassification`, modelType: null, examples: judges, serves },
    { name: `${className}ForTokenClassification`, modelType: null, serves },
    { name: `${className}ForQuestionAnswering`, modelType: null, serves },
  ]),
  read: (json, className, file) => declare(readBertConfig(json, className, file)),
  gguf: BERT_GGUF,
};

function declare(config: BertConfig): TextDeclaration {
  const { architecture, vocabulary, hidden, heads, layers, ffn, context, outputs, types } = config;
  return {
    architecture,
    vocabulary,
    hidden,
    context,
    ropes: [],
    inputs: { embeddings: true, positions: 1, attention: 'whole', types },
    depth: layers,
    // A text is never computed in parts, so that all layers can use the pages of one layer in turn.
    layers: [{ kind: 'kv', kvHeads: heads, dims: paddedHead(hidden / heads), window: null, format: 'f32' }],
    widest: Math.max(ffn, 3 * heads * paddedHead(hidden / heads)),
    experts: null,
    tied: null,
    generate: null,
    embed: (weights) => (outputs ? bertHead(config, outputs, weights) : bert(config, weights)),
    states: null,
    ...(outputs && { outputs }),
  };
}
