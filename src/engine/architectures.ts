// The classes of checkpoints that are built in, for each kind of model that is opened with them.

import type { KnownClasses } from '../files/checkpoint/architecture.ts';
import { BERT_ARCHITECTURES, BERT_MODEL_TYPES } from '../models/text/bert-config.ts';
import { LLAMA_ARCHITECTURES, LLAMA_MODEL_TYPES } from '../models/text/llama-config.ts';

/** Decoders saved without their head → the class of the whole. */
export const HEADLESS: ReadonlyMap<string, string> = new Map([
  ['LlamaModel', 'LlamaForCausalLM'],
  ['MistralModel', 'MistralForCausalLM'],
  ['Qwen2Model', 'Qwen2ForCausalLM'],
  ['Qwen3Model', 'Qwen3ForCausalLM'],
]);

const modelTypes: ReadonlyMap<string, string> = new Map([...LLAMA_MODEL_TYPES, ...BERT_MODEL_TYPES]);
const embeddings = [...BERT_ARCHITECTURES, ...HEADLESS.keys()];

export const TEXT_CLASSES: KnownClasses = {
  names: LLAMA_ARCHITECTURES,
  modelTypes,
  embeddings,
  purpose: 'run',
  role: 'AutoModelForCausalLM',
};

export const EMBEDDING_CLASSES: KnownClasses = {
  names: [...embeddings, ...LLAMA_ARCHITECTURES],
  modelTypes,
  purpose: 'make embeddings',
  role: 'AutoModel',
};
