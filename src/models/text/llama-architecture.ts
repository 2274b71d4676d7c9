// Llama, Mistral, Qwen and the other classes of llama-families.ts as the engine knows them.

import type { Json } from '../config-values.ts';
import type { TextArchitecture, TextClass, TextDeclaration } from './architecture.ts';
import { expertLayers } from './experts-config.ts';
import { readLlamaConfig, type LlamaConfig } from './llama-config.ts';
import { FAMILIES } from './llama-families.ts';
import { LLAMA_GGUF } from './llama-gguf.ts';
import { llama, llamaNormed, llamaStates } from './llama.ts';

/** Decoders saved without their head → the class of the whole. */
const HEADLESS: ReadonlyMap<string, string> = new Map([
  ['LlamaModel', 'LlamaForCausalLM'],
  ['MistralModel', 'MistralForCausalLM'],
  ['Qwen2Model', 'Qwen2ForCausalLM'],
  ['Qwen3Model', 'Qwen3ForCausalLM'],
]);

/** Published models that are saved without their head. */
const HEADLESS_EXAMPLES: Readonly<Record<string, string>> = {
  MistralModel: 'E5-Mistral',
  Qwen2Model: 'gte-Qwen2',
  Qwen3Model: 'Qwen3-Embedding',
};

const classes: TextClass[] = [
  ...[...HEADLESS.keys()].map((name): TextClass => ({
    name,
    modelType: null,
    examples: HEADLESS_EXAMPLES[name] ?? '',
    serves: ['embed'],
  })),
  ...[...FAMILIES].map(([name, { modelType, examples }]): TextClass => ({
    name,
    modelType,
    examples,
    serves: ['generate', 'embed'],
  })),
];

export const LLAMA: TextArchitecture = {
  classes,
  read: (json: Json, className: string) =>
    declare(readLlamaConfig(json, HEADLESS.get(className) ?? className)),
  gguf: LLAMA_GGUF,
};

function declare(config: LlamaConfig): TextDeclaration {
  const { architecture, vocabulary, hidden, context, rope, ffn, windows, experts, tied } = config;
  const { heads, kvHeads, dims } = config.heads;
  return {
    architecture,
    vocabulary,
    hidden,
    context,
    ropes: [rope],
    // Rows of another model's embeddings are taken as they are, which a scaled residual stream does not allow.
    inputs: { embeddings: config.embeddingScale === 1, positions: 1, attention: 'causal' },
    layers: windows.map((window) => ({ kind: 'kv', kvHeads, dims, window })),
    widest: Math.max(ffn, hidden, (heads + 2 * kvHeads) * dims, experts?.shared ?? 0),
    experts: experts && {
      layers: expertLayers(experts),
      count: experts.count,
      chosen: experts.chosen,
      widest: Math.max(hidden, experts.ffn),
    },
    tied: tied
      ? {
          head: 'lm_head.weight',
          embeddings: ['model.embed_tokens.weight', 'embed_tokens.weight'],
          untied: declare({ ...config, tied: false }),
        }
      : null,
    generate: (weights) => llama(config, weights),
    embed: (weights) => llamaNormed(config, weights),
    states: (weights, depth) => llamaStates(config, weights, depth),
  };
}
