// Text architecture of Llama, Mistral, Qwen and OLMoE.

import type { Json } from '../config-values.ts';
import type { TextArchitecture, TextClass, TextDeclaration } from './architecture.ts';
import { expertLayers } from './experts-config.ts';
import {
  LLAMA_ARCHITECTURES,
  LLAMA_EXAMPLES,
  LLAMA_MODEL_TYPES,
  readLlamaConfig,
  type LlamaConfig,
} from './llama-config.ts';
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

const modelTypeOf = new Map([...LLAMA_MODEL_TYPES].map(([type, name]) => [name, type]));

const classes: TextClass[] = [
  ...[...HEADLESS.keys()].map((name): TextClass => ({
    name,
    modelType: null,
    examples: HEADLESS_EXAMPLES[name] ?? '',
    serves: ['embed'],
  })),
  ...LLAMA_ARCHITECTURES.map((name): TextClass => ({
    name,
    modelType: modelTypeOf.get(name)!,
    examples: LLAMA_EXAMPLES.get(name)!,
    serves: ['generate', 'embed'],
  })),
];

export const LLAMA: TextArchitecture = {
  classes,
  read: (json: Json, className: string) =>
    declare(readLlamaConfig(json, HEADLESS.get(className) ?? className)),
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
    inputs: { embeddings: true, positions: 1, attention: 'causal' },
    layers: windows.map((window) => ({ kind: 'kv', kvHeads, dims, window })),
    widest: Math.max(ffn, hidden, (heads + 2 * kvHeads) * dims),
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
