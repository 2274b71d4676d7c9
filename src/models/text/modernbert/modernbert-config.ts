// Converts config.json of ModernBERT to the configuration of modernbert.ts.

import { CONFIG_JSON, checkHeads, readConfig, type Json } from '../../config-values.ts';
import { ACTIVATIONS } from '../blocks/activation-names.ts';
import { readRopes, readWindowed, withSharedKeys } from '../blocks/decoder-config.ts';
import { headOf, readOutputs } from '../blocks/outputs.ts';

/** Its names of settings, by those of decoders. */
const KEYS = {
  sliding_window: 'local_attention',
  sliding_window_pattern: 'global_attn_every_n_layers',
  layer_norm_eps: 'norm_eps',
  rope_theta: 'global_rope_theta',
  rope_local_base_freq: 'local_rope_theta',
} as const;

export type ModernBertConfig = ReturnType<typeof readModernBertConfig>;

export function readModernBertConfig(json: Json, architecture: string, file = CONFIG_JSON) {
  const [values, own] = withSharedKeys(json, file, KEYS);
  const config = readConfig(own, values);
  config.only({ hidden_activation: ['gelu'] });
  const hidden = config.count('hidden_size', 768);
  const heads = checkHeads(file.name, hidden, config.count('num_attention_heads', 12));
  const layers = config.count('num_hidden_layers', 22);
  const every = config.count('sliding_window_pattern', 3);
  const windowed = readWindowed(config, layers) ?? Array.from({ length: layers }, (_, i) => i % every > 0);
  // Half of the window lies to each side of a token.
  const window = Math.floor(config.count('sliding_window', 128) / 2) + 1;
  const context = config.count('max_position_embeddings', 8192);
  const localTheta = config.real('rope_local_base_freq', 10000);
  const head = headOf(architecture);
  const pooling = config.choice('classifier_pooling', { cls: 'cls', mean: 'mean' } as const, 'cls');
  return {
    architecture,
    vocabulary: config.count('vocab_size', 50368),
    hidden,
    ffn: config.count('intermediate_size', 1152),
    heads,
    /** The window of each layer to both sides, with the token itself; null: it sees the whole text. */
    windows: windowed.map((isWindowed) => (isWindowed ? window : null)),
    eps: config.real('layer_norm_eps', 1e-5),
    normBias: config.flag('norm_bias', false),
    attentionBias: config.flag('attention_bias', false),
    mlpBias: config.flag('mlp_bias', false),
    /** Of the full and of the windowed layers. */
    ropes: readRopes(config, hidden / heads, { context, theta: 160_000, localTheta }),
    context,
    classifierBias: config.flag('classifier_bias', false),
    classifierActivation: config.choice('classifier_activation', ACTIVATIONS, 'gelu'),
    outputs: head && readOutputs(config, head, pooling),
  };
}
