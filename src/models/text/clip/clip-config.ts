// Converts config.json of a CLIP text encoder to the configuration of clip.ts. Only this file knows its key names.

import { checkHeads, readConfig, type Json } from '../../config-values.ts';

const ACTIVATIONS = { quick_gelu: 'quick-gelu', gelu: 'gelu' } as const;

/** Wrong value of eos_token_id in configurations of OpenAI's CLIP before 2023. */
const WRONG_END = 2;

export type ClipConfig = ReturnType<typeof readClipConfig>;

export function readClipConfig(json: Json, architecture: string, file = 'config.json') {
  const config = readConfig(file, json);
  const hidden = config.count('hidden_size', 512);
  const end = config.count('eos_token_id', 49407);
  return {
    vocabulary: config.count('vocab_size', 49408),
    /** Maximum tokens of one text. */
    positions: config.count('max_position_embeddings', 77),
    hidden,
    ffn: config.count('intermediate_size', 2048),
    heads: checkHeads(file, hidden, config.count('num_attention_heads', 8)),
    layers: config.count('num_hidden_layers', 12),
    eps: config.real('layer_norm_eps', 1e-5),
    activation: config.choice('hidden_act', ACTIVATIONS, 'quick_gelu'),
    /** Columns of the projected, pooled text; null: the model has none. */
    projection: architecture === 'CLIPTextModelWithProjection' ? config.count('projection_dim', 512) : null,
    /** Id of the token whose state represents the text; null: the largest id in the text, for configurations with a wrong end token. */
    end: end === WRONG_END ? null : end,
  };
}

/** Index of the token whose state represents the text: the first end token, or the first occurrence of the largest id. */
export function poolingPosition({ end }: ClipConfig, ids: readonly number[]): number {
  return Math.max(0, ids.indexOf(end ?? Math.max(...ids)));
}
