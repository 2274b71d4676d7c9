// A head that config.json ties to the embedding may be stored all the same. transformers then compares the two: equal ones are tied,
// and of different ones each is used.

import type { TensorEntry } from '../../files/checkpoint/safetensors.ts';
import { sameValues } from '../../files/checkpoint/same-values.ts';
import type { LlamaConfig } from '../../models/text/llama-config.ts';

const HEAD = 'lm_head.weight';
const EMBEDDINGS = ['model.embed_tokens.weight', 'embed_tokens.weight'];

/** The configuration, untied where the file holds a head of its own, which `onNote` hears. */
export async function untieStoredHead(
  config: LlamaConfig,
  tensors: ReadonlyMap<string, TensorEntry>,
  onNote: (message: string) => void,
): Promise<LlamaConfig> {
  const head = tensors.get(HEAD);
  const name = EMBEDDINGS.find((one) => tensors.has(one));
  if (!config.tied || head === undefined || name === undefined) return config;
  if (await sameValues(head, tensors.get(name)!)) return config;
  onNote(
    `config.json has tie_word_embeddings true, and ${HEAD} in ${head.source.name} differs from ${name}: both are used as they are stored`,
  );
  return { ...config, tied: false };
}
