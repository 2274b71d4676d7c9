// Text architecture of ModernBERT: an encoder, which serves embeddings, classification and ranking.

import { paddedHead } from '../../../kernels/resize-heads.ts';
import type { TextArchitecture, TextDeclaration } from '../blocks/architecture.ts';
import { readModernBertConfig, type ModernBertConfig } from './modernbert-config.ts';
import { modernBert, modernBertHead } from './modernbert.ts';

export const MODERNBERT: TextArchitecture = {
  classes: [
    {
      name: 'ModernBertModel',
      modelType: 'modernbert',
      examples: 'gte-modernbert, nomic modernbert-embed',
      serves: ['embed'],
    },
    {
      name: 'ModernBertForSequenceClassification',
      modelType: null,
      examples: 'gte-reranker-modernbert',
      serves: ['embed'],
    },
    { name: 'ModernBertForTokenClassification', modelType: null, serves: ['embed'] },
  ],
  read: (json, className, file) => declare(readModernBertConfig(json, className, file)),
};

function declare(config: ModernBertConfig): TextDeclaration {
  const { architecture, vocabulary, hidden, heads, ffn, context, ropes, outputs } = config;
  const dims = paddedHead(hidden / heads);
  return {
    ...{ architecture, vocabulary, hidden, context, ropes },
    inputs: { embeddings: true, positions: 1, attention: 'whole' },
    depth: config.windows.length,
    // A text is never computed in parts, so that all layers can use the pages of one layer in turn.
    layers: [{ kind: 'kv', kvHeads: heads, dims, window: null, format: 'f32' }],
    widest: Math.max(2 * ffn, 3 * heads * dims),
    experts: null,
    tied: null,
    generate: null,
    embed: (weights) => (outputs ? modernBertHead(config, outputs, weights) : modernBert(config, weights)),
    states: null,
    ...(outputs && { outputs }),
  };
}
