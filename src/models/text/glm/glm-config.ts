// Converts config.json of GLM-4 to the configuration of llama.ts (2024) or sandwich-norm.ts (2025). Keys that decoders share are read
// in decoder-config.ts.

import { CONFIG_JSON, readConfig, type Json } from '../../config-values.ts';
import { readHeads } from '../blocks/decoder-config.ts';
import type { LlamaConfig } from '../llama/llama-config.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { SandwichNorms } from '../blocks/sandwich-norm.ts';

/** `norms` null: a norm before each block, as in Llama. */
export type GlmConfig = LlamaConfig & { norms: SandwichNorms | null };

/** Key that no published configuration has: heads turn by halves, not by adjacent pairs. */
export const BY_HALVES = 'rotated_by_halves';

interface Family {
  /** model_type of config.json. */
  modelType: string;
  examples: string;
  norms: SandwichNorms | null;
}

export const GLMS: Readonly<Record<string, Family>> = {
  GlmForCausalLM: { modelType: 'glm', examples: 'GLM-4-9B of 2024 in the Hugging Face layout', norms: null },
  Glm4ForCausalLM: {
    modelType: 'glm4',
    examples: 'GLM-4-9B-0414, GLM-4-32B-0414, GLM-Z1',
    norms: {
      normNames: [
        'input_layernorm',
        'post_self_attn_layernorm',
        'post_attention_layernorm',
        'post_mlp_layernorm',
      ],
      activation: 'silu',
      scoreCap: null,
    },
  },
};

/** Errors: bad_checkpoint; unsupported for settings that are not computed. */
export function readGlmConfig(json: Json, architecture: string, file = CONFIG_JSON): GlmConfig {
  const config = readConfig(file, json);
  config.only({ hidden_act: ['silu', 'swish'] });
  const hidden = config.count('hidden_size', 4096);
  const heads = readHeads(config, hidden, { heads: 32, kvHeads: 2, dims: 128 });
  const context = config.count('max_position_embeddings', 131072);
  const rope = readRope(config.with({ partial_rotary_factor: 0.5, ...json }), heads.dims, {
    context,
    partial: true,
  });
  return {
    architecture,
    vocabulary: config.count('vocab_size', 151552),
    hidden,
    ffn: config.count('intermediate_size', 13696),
    heads: { ...heads, rotated: rope.dims, pairs: config.flag(BY_HALVES, false) ? 'half' : 'adjacent' },
    layers: Array.from({ length: config.count('num_hidden_layers', 40) }, () => ({ window: null, rope: 0 })),
    ropes: [rope],
    eps: config.real('rms_norm_eps', 1.5625e-7),
    context,
    tied: config.flag('tie_word_embeddings', false),
    qkvBias: config.flag('attention_bias', true),
    outBias: false,
    fusedGateUp: true,
    norms: GLMS[architecture]!.norms,
  };
}
