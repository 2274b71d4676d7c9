// Converts config.json of a CLIPVisionModelWithProjection to the configuration of clip-vision.ts.

import { checkHeads, readConfig, type Json } from '../config-values.ts';

const ACTIVATIONS = { quick_gelu: 'quick-gelu', gelu: 'gelu' } as const;
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = { num_channels: [3] };

export type ClipVisionConfig = ReturnType<typeof readClipVisionConfig>;

export function readClipVisionConfig(json: Json, file = 'config.json') {
  const config = readConfig(file, json);
  config.only(NEUTRAL);
  const hidden = config.count('hidden_size', 768);
  const side = config.count('image_size', 224);
  const patch = config.count('patch_size', 32);
  if (side % patch !== 0)
    throw config.error('bad_checkpoint', 'patch_size', `is ${patch}, and the side of an image ${side}`);
  return {
    /** Pixels along the side of an image, and of a patch. */
    side,
    patch,
    hidden,
    ffn: config.count('intermediate_size', 3072),
    heads: checkHeads(file, hidden, config.count('num_attention_heads', 12)),
    layers: config.count('num_hidden_layers', 12),
    eps: config.real('layer_norm_eps', 1e-5),
    activation: config.choice('hidden_act', ACTIVATIONS, 'quick_gelu'),
    /** Columns of the embedding of an image. */
    projection: config.count('projection_dim', 512),
  };
}
