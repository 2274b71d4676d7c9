// Text architecture of JinaBERT: jina-embeddings v2 and the rerankers of the same class.

import { paddedHead } from '../../../kernels/resize-heads.ts';
import type { TextArchitecture, TextClass, TextDeclaration } from '../blocks/architecture.ts';
import { encoderHead } from '../bert/bert-heads.ts';
import { readJinaBertConfig, type JinaBertConfig } from './jina-bert-config.ts';
import { JINA_BERT_GGUF } from './jina-bert-gguf.ts';
import { jinaBert, rootOf } from './jina-bert.ts';

const shared = {
  needsNoCode: true,
  codeConfig: 'JinaBertConfig',
  modelType: null,
  serves: ['embed'],
} as const;
const HEADS: readonly TextClass[] = [
  { ...shared, name: 'JinaBertForSequenceClassification', examples: 'jina-reranker-v1 turbo and tiny' },
  { ...shared, name: 'JinaBertForTokenClassification' },
  { ...shared, name: 'JinaBertForQuestionAnswering' },
];

export const JINA_BERT: TextArchitecture = {
  classes: [
    { ...shared, name: 'JinaBertModel', examples: 'jina-embeddings-v2 small and base, de, es, zh, code' },
    ...HEADS,
  ],
  read: (json, className, file) => declare(readJinaBertConfig(json, className, file)),
  gguf: JINA_BERT_GGUF,
};

function declare(config: JinaBertConfig): TextDeclaration {
  const { architecture, vocabulary, hidden, heads, layers, ffn, context, outputs, types } = config;
  const dims = paddedHead(hidden / heads);
  return {
    ...{ architecture, vocabulary, hidden, context },
    ropes: [],
    inputs: { embeddings: true, positions: 1, attention: 'whole', types },
    depth: layers,
    // A text is never computed in parts, so that all layers can use the pages of one layer in turn.
    layers: [{ kind: 'kv', kvHeads: heads, dims, window: null, format: 'f32' }],
    widest: Math.max(2 * ffn, 3 * heads * dims),
    experts: null,
    tied: null,
    generate: null,
    embed: (weights) => {
      const states = jinaBert(config, weights);
      if (!outputs) return states;
      const head = {
        dense: `${rootOf(weights)}pooler.dense`,
        out: 'classifier',
        activation: 'tanh',
      } as const;
      return encoderHead(config, outputs, weights, states, head);
    },
    states: null,
    ...(outputs && { outputs }),
  };
}
