// Text architecture of DeBERTa v2 and v3: encoders for ranking, classification and inference between texts.

import type { TextArchitecture, TextClass, TextDeclaration } from '../blocks/architecture.ts';
import { encoderHead } from '../bert/bert-heads.ts';
import { readDebertaConfig, type DebertaConfig } from './deberta-config.ts';
import { deberta } from './deberta.ts';

const HEADS = ['ForSequenceClassification', 'ForTokenClassification', 'ForQuestionAnswering'] as const;
const serves = ['embed'] as const;

export const DEBERTA: TextArchitecture = {
  classes: [
    {
      name: 'DebertaV2Model',
      modelType: 'deberta-v2',
      examples: 'deberta-v2, deberta-v3, mdeberta-v3',
      serves,
    },
    ...HEADS.map((head): TextClass => {
      const examples = head === 'ForSequenceClassification' && 'mxbai-rerank v1, nli-deberta-v3';
      return { name: `DebertaV2${head}`, modelType: null, ...(examples && { examples }), serves };
    }),
  ],
  read: (json, className, file) => declare(readDebertaConfig(json, className, file)),
};

function declare(config: DebertaConfig): TextDeclaration {
  const { architecture, vocabulary, hidden, layers, ffn, context, outputs, poolerActivation } = config;
  const columns = Math.max(3, config.convolution?.taps ?? 0);
  const head = { dense: 'pooler.dense', out: 'classifier', activation: poolerActivation };
  return {
    ...{ architecture, vocabulary, hidden, context },
    ropes: [],
    inputs: { embeddings: true, positions: 1, attention: 'whole' },
    depth: layers,
    // A text is computed whole, and its keys and values lie in its rows.
    layers: [],
    widest: Math.max(ffn, columns * hidden),
    experts: null,
    tied: null,
    generate: null,
    embed: (weights) => {
      const states = deberta(config, weights);
      return outputs ? encoderHead(config, outputs, weights, states, head) : states;
    },
    states: null,
    ...(outputs && { outputs }),
  };
}
