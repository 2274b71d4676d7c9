// Files of Z-Image as ComfyUI writes them: the transformer alone, or with the text encoder and the autoencoder. source: diffusers'
// loaders/single_file_utils.py, ComfyUI's model_detection.py

import type { FileHeaders, NamedRows, PartConfig } from '../../../../files/pipeline/file-layout.ts';
import { AUTOENCODER_LAYOUTS, FLUX_SCALES } from '../../layouts/autoencoder.ts';
import { qwenLayout } from '../../layouts/decoder.ts';
import { nunchakuLayout } from '../../layouts/nunchaku-names.ts';
import {
  bothLayouts,
  encoderPrefixes,
  fileLayouts,
  flowSchedule,
  queriesKeysValues,
} from '../../layouts/part-layouts.ts';
import { Shapes } from '../../layouts/shapes.ts';

const MODULATION = 'layers.0.adaLN_modulation.0.weight';

/** Names of the original program. */
export function originalNames(name: string, shape: readonly number[]): string | readonly NamedRows[] {
  // A norm that the model does not run.
  if (name === 'norm_final.weight') return [];
  const [, attention] = /^(.*\.attention)\.qkv\.weight$/.exec(name) ?? [];
  if (attention !== undefined) return queriesKeysValues((part) => `${attention}.to_${part}.weight`, shape);
  return name
    .replace(/^(x_embedder|final_layer)\./, 'all_$1.2-1.')
    .replace('.attention.out.', '.attention.to_out.0.')
    .replace(/\.attention\.([qk])_norm\./, '.attention.norm_$1.');
}

/** Latents of a token. */
const PATCH = 4;
/** Dimensions of a head that are rotated by caption and frame, by row and by column, as shares of 8. */
const AXES = [2, 3, 3] as const;

function zImageConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'transformer');
  const hidden = shapes.extent('all_x_embedder.2-1.weight', 0);
  const dims = shapes.extent('layers.0.attention.norm_q.weight', 0);
  return {
    className: 'ZImageTransformer2DModel',
    config: {
      dim: hidden,
      in_channels: Math.floor(shapes.extent('all_x_embedder.2-1.weight', 1) / PATCH),
      n_heads: Math.max(1, Math.floor(hidden / dims)),
      n_layers: shapes.count((i) => `layers.${i}.attention.to_q.weight`),
      n_refiner_layers: shapes.count((i) => `noise_refiner.${i}.attention.to_q.weight`),
      cap_feat_dim: shapes.extent('cap_embedder.1.weight', 1),
      axes_dims: AXES.map((share) => (share * dims) / 8),
      axes_lens: [1536, 512, 512],
    },
  };
}

const TRANSFORMERS = bothLayouts({
  original: ['x_embedder.weight', 'cap_embedder.1.weight', MODULATION, 'layers.0.attention.qkv.weight'],
  diffusers: ['all_x_embedder.2-1.weight', 'cap_embedder.1.weight', MODULATION],
  rename: originalNames,
  configure: zImageConfig,
});

const NUNCHAKU = nunchakuLayout(TRANSFORMERS[0]!, [
  'all_x_embedder.2-1.weight',
  MODULATION,
  'layers.0.attention.to_qkv.weight',
]);

export const Z_IMAGE_FILES = fileLayouts({
  parts: {
    transformer: [NUNCHAKU, ...TRANSFORMERS],
    vae: AUTOENCODER_LAYOUTS,
    text_encoder: [qwenLayout(encoderPrefixes('text_encoder', 'qwen3_4b'))],
  },
  configs: { vae: FLUX_SCALES },
  describe: async () => ({
    className: 'ZImagePipeline',
    settings: {},
    scheduler: flowSchedule({ shift: 3, use_dynamic_shifting: false }),
  }),
  repository: 'Tongyi-MAI/Z-Image-Turbo',
});
