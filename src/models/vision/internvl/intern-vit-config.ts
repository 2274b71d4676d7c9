// Converts the vision_config of InternVL to the configuration of intern-vit.ts: that of transformers' InternVLVisionModel, and that of
// InternVisionModel in the original layout. Only this file knows their key names.

import { checkHeads, type ConfigReader } from '../../config-values.ts';
import { readSquare } from '../tower-values.ts';

/** Whose names of keys, classes and tensors a checkpoint has: transformers', or those of InternVL's own program. */
export type InternLayout = 'transformers' | 'original';

const ACTIVATIONS = { gelu: 'gelu', gelu_pytorch_tanh: 'gelu-tanh', quick_gelu: 'quick-gelu' } as const;
const NORMS = { layer_norm: 'layer', rms_norm: 'rms' } as const;
/** Eps of transformers' norms of queries and keys, whatever the configuration says. */
const QUERY_EPS = 1e-6;

export type InternVitConfig = ReturnType<typeof readInternVit>;

export function readInternVit(config: ConfigReader, layout: InternLayout) {
  config.only({ num_channels: [3] });
  const own = layout === 'original';
  const hidden = config.count('hidden_size', own ? 3200 : 1024);
  const heads = checkHeads('vision_config', hidden, config.count('num_attention_heads', own ? 25 : 16));
  const eps = config.real('layer_norm_eps', 1e-6);
  const layers = config.count('num_hidden_layers', own ? 48 : 24);
  const normed = own ? config.flag('qk_normalization', true) : config.flag('use_qk_norm', false);
  const queryEps = own ? eps : QUERY_EPS;
  return {
    layout,
    /** Pixels along a side of the images that it was trained on, and of a patch. */
    side: readSquare(config, 'image_size', own ? 224 : 448),
    patch: readSquare(config, 'patch_size', 14),
    hidden,
    ffn: config.count('intermediate_size', own ? 12800 : 4096),
    heads,
    /** Dimensions of a head. */
    dims: hidden / heads,
    /** Layers that are computed, of those that there are. */
    layers,
    allLayers: layers,
    norm: config.choice('norm_type', NORMS, own ? 'rms_norm' : 'layer_norm'),
    eps,
    /** Eps of the norms of whole rows of queries and of keys; null: there are none. */
    queryNorm: normed ? queryEps : null,
    /** Whether queries, keys and values have a bias. */
    bias: config.flag(own ? 'qkv_bias' : 'attention_bias', false),
    activation: config.choice('hidden_act', ACTIVATIONS, 'gelu'),
    /** Whether patches have positions. */
    places: own || config.flag('use_absolute_position_embeddings', true),
    /** Whether a LayerNorm follows the last layer. */
    lastNorm: !own && !config.flag('use_mean_pooling', true),
  };
}
