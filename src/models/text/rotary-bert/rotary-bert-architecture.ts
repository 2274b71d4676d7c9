// Text architecture of NomicBERT, GTE, Jina Embeddings v3 and Jina's XLM-RoBERTa: BERT with rotated heads, most of them with gates.

import { paddedHead } from '../../../kernels/resize-heads.ts';
import type { TextArchitecture, TextClass, TextDeclaration } from '../blocks/architecture.ts';
import { encoderHead } from '../bert/bert-heads.ts';
import { expertLayers } from '../blocks/experts-config.ts';
import { readRotaryBertConfig, type RotaryBertConfig } from './rotary-bert-config.ts';
import { ROTARY_FAMILIES } from './rotary-bert-families.ts';
import { ROTARY_BERT_GGUF } from './rotary-bert-gguf.ts';
import { rootOf, rotaryBert } from './rotary-bert.ts';

const shared = { needsNoCode: true, serves: ['embed'] } as const;

export const ROTARY_BERT: TextArchitecture = {
  classes: ROTARY_FAMILIES.flatMap(({ className, modelType, examples, judges, codeConfig, ends }) =>
    ends.map((end): TextClass => {
      const named = { ...shared, name: `${className}${end}`, ...(codeConfig && { codeConfig }) };
      if (end === 'Model') return { ...named, modelType, examples };
      const isJudge = end === 'ForSequenceClassification' && judges !== undefined;
      return { ...named, modelType: null, ...(isJudge && { examples: judges }) };
    }),
  ),
  read: (json, className, file) => declare(readRotaryBertConfig(json, className, file)),
  gguf: ROTARY_BERT_GGUF,
  fusedExperts: 'stacked',
};

function declare(config: RotaryBertConfig): TextDeclaration {
  const { architecture, kind, vocabulary, hidden, heads, layers, ffn, gated, context, rope, outputs } =
    config;
  const { experts, types, tasks } = config;
  const dims = paddedHead(hidden / heads);
  return {
    ...{ architecture, vocabulary, hidden, context },
    ropes: rope ? [rope] : [],
    inputs: { embeddings: true, positions: 1, attention: 'whole', types },
    depth: layers,
    // A text is never computed in parts, so that all layers can use the pages of one layer in turn.
    layers: [{ kind: 'kv', kvHeads: heads, dims, window: null, format: 'f32' }],
    widest: Math.max((gated ? 2 : 1) * ffn, 3 * heads * dims),
    experts: experts && {
      layers: expertLayers(experts),
      count: experts.count,
      chosen: experts.chosen,
      widest: Math.max(experts.ffn, hidden),
    },
    tied: null,
    generate: null,
    embed: (weights) => {
      const states = rotaryBert(config, weights);
      if (!outputs) return states;
      const head =
        kind === 'jina' || kind === 'flash'
          ? { dense: 'classifier.dense', out: 'classifier.out_proj' }
          : { dense: `${rootOf(weights)}pooler.dense`, out: 'classifier' };
      return encoderHead(config, outputs, weights, states, { ...head, activation: 'tanh' });
    },
    states: null,
    ...(outputs && { outputs }),
    ...(tasks && { tasks }),
  };
}
