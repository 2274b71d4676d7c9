// Text architecture of T5, mT5 and UMT5, with ByT5 and what was trained from these.

import { storedHead } from '../../../kernels/resize-heads.ts';
import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { KvState, TextArchitecture, TextDeclaration } from '../blocks/architecture.ts';
import { readT5Language, type T5LanguageConfig } from './t5-config.ts';
import { T5_TIED, t5Heads, t5Language } from './t5-language.ts';

const serves = ['generate'] as const;

/** Positions are distances, so that the texts of training, mostly of 512 tokens, are no limit. */
const LONGEST = 2048;

export const T5: TextArchitecture = {
  classes: [
    {
      name: 'T5ForConditionalGeneration',
      modelType: 't5',
      examples: 'T5, Flan-T5, Flan-UL2, ByT5, MADLAD-400',
      serves,
    },
    { name: 'T5WithLMHeadModel', modelType: null, serves },
    { name: 'MT5ForConditionalGeneration', modelType: 'mt5', examples: 'mT5, mT0', serves },
    { name: 'UMT5ForConditionalGeneration', modelType: 'umt5', examples: 'UMT5', serves },
  ],
  read: (json, className, file) => declare(readT5Language(json, className, file)),
};

function declare(config: T5LanguageConfig): TextDeclaration {
  const { architecture, vocabulary, hidden, ffn, heads, dims, decoderLayers, tied } = config;
  const state: KvState = { kind: 'kv', kvHeads: heads, dims: storedHead(t5Heads(config)), window: null };
  return {
    architecture,
    vocabulary,
    hidden,
    context: Math.ceil(LONGEST / PAGE_TOKENS) * PAGE_TOKENS + LONGEST,
    ropes: [],
    inputs: { embeddings: false, positions: 1, attention: 'causal' },
    depth: decoderLayers,
    layers: Array.from({ length: decoderLayers }, () => state),
    widest: Math.max(ffn, hidden, 3 * heads * dims),
    experts: null,
    tied: tied ? { ...T5_TIED, untied: declare({ ...config, tied: false }) } : null,
    generate: (weights) => t5Language(config, weights),
    embed: null,
    states: null,
    source: { tokens: LONGEST, written: LONGEST, layers: [state] },
  };
}
