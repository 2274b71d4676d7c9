// Reads the vision_config of a class whose tower is SigLIP's encoder. Only this file knows the key names.

import { checkHeads, type ConfigReader } from '../config-values.ts';

const ACTIVATIONS = { gelu_pytorch_tanh: 'gelu-tanh', gelu: 'gelu' } as const;

export type SiglipConfig = ReturnType<typeof readSiglip>;

/** `defaults`: sizes of transformers' configuration class. */
export function readSiglip(outer: ConfigReader, defaults: SiglipDefaults) {
  return readSiglipEncoder(outer.part('vision_config'), defaults);
}

interface SiglipDefaults {
  hidden: number;
  heads: number;
  patch: number;
}

/** Reads the configuration of the encoder alone. */
export function readSiglipEncoder(config: ConfigReader, defaults: SiglipDefaults) {
  config.only({ num_channels: [3] });
  const hidden = config.count('hidden_size', defaults.hidden);
  return {
    /** Pixels along a side of an image, and of a patch. */
    side: config.count('image_size', 224),
    patch: config.count('patch_size', defaults.patch),
    hidden,
    ffn: config.count('intermediate_size', 3072),
    heads: checkHeads('config.json', hidden, config.count('num_attention_heads', defaults.heads)),
    layers: config.count('num_hidden_layers', 12),
    eps: config.real('layer_norm_eps', 1e-6),
    activation: config.choice('hidden_act', ACTIVATIONS, 'gelu_pytorch_tanh'),
  };
}
