// Text architecture of Gemma 2 and Gemma 3.

import type { Json } from '../config-values.ts';
import type { TextArchitecture, TextClass, TextDeclaration } from './architecture.ts';
import { GEMMAS, readGemmaConfig, type GemmaConfig } from './gemma-config.ts';
import { GEMMA_GGUF } from './gemma-gguf.ts';
import { gemma, gemmaNormed, gemmaStates } from './gemma.ts';

/** Class of a decoder saved without its head → class of the whole model. */
const HEADLESS: ReadonlyMap<string, string> = new Map([
  ['Gemma2Model', 'Gemma2ForCausalLM'],
  ['Gemma3TextModel', 'Gemma3ForCausalLM'],
]);

const classes: TextClass[] = [
  ...[...HEADLESS.keys()].map((name): TextClass => ({ name, modelType: null, serves: ['embed'] })),
  ...Object.entries(GEMMAS).map(([name, { modelType, examples }]): TextClass => ({
    name,
    modelType,
    examples,
    serves: ['generate', 'embed'],
  })),
];

export const GEMMA: TextArchitecture = {
  classes,
  read: (json: Json, className: string) =>
    declare(readGemmaConfig(json, HEADLESS.get(className) ?? className)),
  gguf: GEMMA_GGUF,
};

function declare(config: GemmaConfig): TextDeclaration {
  const { architecture, vocabulary, hidden, context, ropes, ffn, layers, tied } = config;
  const { heads, kvHeads, dims } = config.heads;
  return {
    architecture,
    vocabulary,
    hidden,
    context,
    ropes,
    inputs: { embeddings: true, positions: 1, attention: 'causal' },
    layers: layers.map(({ window }) => ({ kind: 'kv', kvHeads, dims, window })),
    widest: Math.max(ffn, hidden, (heads + 2 * kvHeads) * dims),
    experts: null,
    tied: tied
      ? {
          head: 'lm_head.weight',
          embeddings: ['model.embed_tokens.weight', 'embed_tokens.weight'],
          untied: declare({ ...config, tied: false }),
        }
      : null,
    generate: (weights) => gemma(config, weights),
    embed: (weights) => gemmaNormed(config, weights),
    states: (weights, depth) => gemmaStates(config, weights, depth),
  };
}
