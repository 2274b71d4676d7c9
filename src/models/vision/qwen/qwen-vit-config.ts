// Converts the vision_config of Qwen2-VL, and of Qwen3-VL and Qwen3.5, to the configuration of qwen-vit.ts. Only this file knows their key
// names.

import type { Activation } from '../../../kernels/activation.ts';
import { checkHeads, readConfig, shown, type Json } from '../../config-values.ts';

/** Names of modules that differ. */
export interface QwenVitNames {
  /** The two matrices of a layer's feed-forward block. */
  ffn: readonly [string, string];
  mergerNorm: string;
  merger: readonly [string, string];
  /** Whether the patches have a bias. */
  patchBias: boolean;
}

const QWEN2: QwenVitNames = {
  ffn: ['mlp.fc1', 'mlp.fc2'],
  mergerNorm: 'ln_q',
  merger: ['mlp.0', 'mlp.2'],
  patchBias: false,
};
const QWEN3: QwenVitNames = {
  ffn: ['mlp.linear_fc1', 'mlp.linear_fc2'],
  mergerNorm: 'norm',
  merger: ['linear_fc1', 'linear_fc2'],
  patchBias: true,
};
const ACTIVATIONS: Readonly<Record<string, Activation>> = {
  quick_gelu: 'quick-gelu',
  gelu: 'gelu',
  gelu_pytorch_tanh: 'gelu-tanh',
  gelu_new: 'gelu-tanh',
  silu: 'silu',
};

export type QwenVitConfig = ReturnType<typeof readQwenVitConfig>;

/** `isQwen3`: the form of Qwen3-VL; `hasDeep`: whether deepstack_visual_indexes has a default. */
export function readQwenVitConfig(
  json: Json,
  { isQwen3, hasDeep }: { isQwen3: boolean; hasDeep: boolean },
  file = 'config.json',
) {
  const config = readConfig(file, json).part('vision_config');
  const hidden = config.count(isQwen3 ? 'hidden_size' : 'embed_dim', isQwen3 ? 1152 : 1280);
  const heads = checkHeads(file, hidden, config.count('num_heads', 16));
  const stated = config.values['hidden_act'] ?? (isQwen3 ? 'gelu_pytorch_tanh' : 'quick_gelu');
  const activation = typeof stated === 'string' ? ACTIVATIONS[stated] : undefined;
  if (activation === undefined)
    throw config.error(
      'unsupported',
      'hidden_act',
      `is ${shown(stated)}, built are ${Object.keys(ACTIVATIONS).join(', ')}`,
    );
  return {
    hidden,
    heads,
    /** Dimensions of a head. */
    dims: hidden / heads,
    ffn: isQwen3 ? config.count('intermediate_size', 4304) : Math.floor(hidden * config.real('mlp_ratio', 4)),
    layers: config.count('depth', isQwen3 ? 27 : 32),
    /** Columns of the result. */
    out: config.count(isQwen3 ? 'out_hidden_size' : 'hidden_size', 3584),
    /** Channels of an image, and frames of a patch. */
    channels: config.count('in_channels', 3),
    frames: config.count('temporal_patch_size', 2),
    /** Pixels along one side of a patch. */
    patch: config.count('patch_size', isQwen3 ? 16 : 14),
    /** Patches along one side of a cell; each cell becomes one row of the result. */
    merge: config.count('spatial_merge_size', 2),
    activation,
    /** Positions along one side of the table of learned positions; null: there is none. */
    places: isQwen3 ? Math.floor(Math.sqrt(config.count('num_position_embeddings', 2304))) : null,
    /** Layers whose states, merged, are added to those of the language model's first layers. */
    deep: hasDeep ? config.list('deepstack_visual_indexes', [8, 16, 24]) : [],
    names: isQwen3 ? QWEN3 : QWEN2,
  };
}
