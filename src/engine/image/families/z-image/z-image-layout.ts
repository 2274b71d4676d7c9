// Files of Z-Image as ComfyUI writes them: the transformer alone, or with the text encoder and the autoencoder. source: diffusers'
// loaders/single_file_utils.py, ComfyUI's model_detection.py

import type {
  FileHeaders,
  FileLayouts,
  NamedRows,
  PartConfig,
  PartLayout,
} from '../../../../files/pipeline/file-layout.ts';
import { equalRows } from '../../../../files/pipeline/renamed-tensors.ts';
import { DIFFUSERS_AUTOENCODER, ORIGINAL_AUTOENCODER } from '../../layouts/autoencoder.ts';
import { decoderParts } from '../../layouts/decoder.ts';
import { Shapes } from '../../layouts/shapes.ts';

const PREFIXES = ['model.diffusion_model.', 'diffusion_model.', 'transformer.', ''];
const MODULATION = 'layers.0.adaLN_modulation.0.weight';

const ORIGINAL: PartLayout = {
  prefixes: PREFIXES,
  signs: ['x_embedder.weight', 'cap_embedder.1.weight', MODULATION, 'layers.0.attention.qkv.weight'],
  names: () => originalNames,
  configure: zImageConfig,
};

const DIFFUSERS: PartLayout = {
  prefixes: PREFIXES,
  signs: ['all_x_embedder.2-1.weight', 'cap_embedder.1.weight', MODULATION],
  names: () => (name) => name,
  configure: zImageConfig,
};

/** Names of the original program. */
export function originalNames(name: string, shape: readonly number[]): string | readonly NamedRows[] {
  // A norm that the model does not run.
  if (name === 'norm_final.weight') return [];
  const [, attention] = /^(.*\.attention)\.qkv\.weight$/.exec(name) ?? [];
  if (attention !== undefined)
    return equalRows(
      ['q', 'k', 'v'].map((part) => `${attention}.to_${part}.weight`),
      shape,
    );
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

export const Z_IMAGE_FILES: FileLayouts = {
  denoiser: 'transformer',
  parts: {
    transformer: [ORIGINAL, DIFFUSERS],
    vae: [ORIGINAL_AUTOENCODER, DIFFUSERS_AUTOENCODER],
    text_encoder: [
      decoderParts(
        ['text_encoders.qwen3_4b.transformer.', 'text_encoders.qwen3_4b.', 'text_encoder.', ''],
        'Qwen3ForCausalLM',
      ),
    ],
  },
  accepts: () => true,
  configs: { vae: { scaling_factor: 0.3611, shift_factor: 0.1159 } },
  tokenizers: {},
  describe: async () => ({
    className: 'ZImagePipeline',
    settings: {},
    scheduler: {
      className: 'FlowMatchEulerDiscreteScheduler',
      config: { num_train_timesteps: 1000, shift: 3, use_dynamic_shifting: false },
    },
  }),
  repository: 'Tongyi-MAI/Z-Image-Turbo',
};
