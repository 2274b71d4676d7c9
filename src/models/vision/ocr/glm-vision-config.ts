// Converts the vision_config of GLM-OCR, and of GLM-4.1V to GLM-4.6V, to the configuration of glm-vision.ts. Only this file knows the key names.

import { checkHeads, readConfig, type Json } from '../../config-values.ts';
import { readSquare } from '../tower-values.ts';

export type GlmVisionConfig = ReturnType<typeof readGlmVision>;

/** `isOcr`: the form of GLM-OCR, whose tower knows places by rotation alone. */
export function readGlmVision(json: Json, { isOcr }: { isOcr: boolean }) {
  const config = readConfig('config.json', json).part('vision_config');
  const rope = config.part('rope_parameters');
  rope.only({ rope_type: ['axial', 'default'], rope_theta: [10000] });
  config.only({ hidden_act: ['silu'] });
  const hidden = config.count('hidden_size', isOcr ? 1024 : 1536);
  const heads = checkHeads('vision_config', hidden, config.count('num_heads', isOcr ? 16 : 12));
  const channels = config.count('in_channels', 3);
  const patch = readSquare(config, 'patch_size', 14);
  const out = config.count('out_hidden_size', isOcr ? 1536 : 4096);
  const width = config.count('intermediate_size', isOcr ? 4096 : 13696);
  const bias = config.flag('attention_bias', isOcr);
  return {
    hidden,
    heads,
    /** Dimensions of a head. */
    dims: hidden / heads,
    layers: config.count('depth', 24),
    channels,
    /** Frames of a patch, and pixels along one side of it. */
    frames: config.count('temporal_patch_size', 2),
    patch,
    /** Patches along one side of a cell; each cell becomes one row of the result. */
    merge: config.count('spatial_merge_size', 2),
    eps: config.real('rms_norm_eps', 1e-5),
    /** Width of the feed-forward blocks of layers, and of the one behind them. */
    ffn: isOcr ? width : out,
    mergerFfn: isOcr ? out * channels : width,
    /** Of queries, keys and values, and of the other matrices of a layer. */
    bias: { qkv: bias, others: isOcr && bias },
    /** Whether queries and keys are normalized. */
    normed: isOcr,
    /** Positions along one side of the table of learned positions; null: there is none. */
    places: isOcr ? null : Math.floor(readSquare(config, 'image_size', 336) / patch),
    /** Columns of the result. */
    out,
  };
}
