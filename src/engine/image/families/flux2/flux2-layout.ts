// Files of FLUX.2: the transformer with the names of Black Forest Labs' program or of diffusers, the autoencoder likewise, and language
// models with those of transformers. sources: diffusers' loaders/single_file_utils.py and scripts/convert_flux2_to_diffusers.py

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
import { fusedAttention, SHARED_MODULES } from '../flux/flux-layout.ts';
import { mistralParts } from './mistral-layout.ts';
import { Shapes } from '../../layouts/shapes.ts';

const PREFIXES = ['model.diffusion_model.', 'diffusion_model.', 'transformer.', ''];

const ORIGINAL: PartLayout = {
  prefixes: PREFIXES,
  signs: [
    'img_in.weight',
    'double_stream_modulation_img.lin.weight',
    'double_blocks.0.img_attn.qkv.weight',
    'single_blocks.0.linear1.weight',
  ],
  names: () => originalNames,
  configure: flux2Config,
};

const DIFFUSERS: PartLayout = {
  prefixes: PREFIXES,
  signs: [
    'x_embedder.weight',
    'double_stream_modulation_img.linear.weight',
    'single_transformer_blocks.0.attn.to_qkv_mlp_proj.weight',
  ],
  names: () => (name) => name,
  configure: flux2Config,
};

/** Modules with the same tensors under another name. */
const MODULES: readonly (readonly [RegExp, string])[] = [
  ...SHARED_MODULES,
  [/^time_in\.in_layer\./, 'time_guidance_embed.timestep_embedder.linear_1.'],
  [/^time_in\.out_layer\./, 'time_guidance_embed.timestep_embedder.linear_2.'],
  [/^guidance_in\.in_layer\./, 'time_guidance_embed.guidance_embedder.linear_1.'],
  [/^guidance_in\.out_layer\./, 'time_guidance_embed.guidance_embedder.linear_2.'],
  [/^((?:double|single)_stream_modulation\w*)\.lin\./, '$1.linear.'],
  [/\.img_mlp\.0\./, '.ff.linear_in.'],
  [/\.img_mlp\.2\./, '.ff.linear_out.'],
  [/\.txt_mlp\.0\./, '.ff_context.linear_in.'],
  [/\.txt_mlp\.2\./, '.ff_context.linear_out.'],
  [/\.linear1\./, '.attn.to_qkv_mlp_proj.'],
  [/\.linear2\./, '.attn.to_out.'],
];

/** Names of the original program. */
export function originalNames(name: string, shape: readonly number[]): string | readonly NamedRows[] {
  const attention = fusedAttention(name, shape);
  if (attention) return attention;
  // Diffusers has the scale before the shift.
  if (name === 'final_layer.adaLN_modulation.1.weight')
    return equalRows(['norm_out.shift.weight', 'norm_out.scale.weight'], shape);
  return MODULES.reduce((renamed, [pattern, other]) => renamed.replace(pattern, other), name);
}

const AXES = 4;

function flux2Config(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'transformer');
  const hidden = shapes.extent('x_embedder.weight', 0);
  const dims = shapes.extent('transformer_blocks.0.attn.norm_q.weight', 0);
  const ffn = shapes.extent('transformer_blocks.0.ff.linear_out.weight', 1);
  return {
    className: 'Flux2Transformer2DModel',
    config: {
      patch_size: 1,
      in_channels: shapes.extent('x_embedder.weight', 1),
      out_channels: shapes.extent('proj_out.weight', 0),
      num_layers: shapes.count((i) => `transformer_blocks.${i}.ff.linear_out.weight`),
      num_single_layers: shapes.count((i) => `single_transformer_blocks.${i}.attn.to_out.weight`),
      attention_head_dim: dims,
      num_attention_heads: Math.max(1, Math.floor(hidden / dims)),
      joint_attention_dim: shapes.extent('context_embedder.weight', 1),
      timestep_guidance_channels: shapes.extent('time_guidance_embed.timestep_embedder.linear_1.weight', 1),
      mlp_ratio: (ffn + 0.5) / hidden, // whose product with the width is rounded down
      guidance_embeds: isGuided(headers),
      axes_dims_rope: Array<number>(AXES).fill(dims / AXES),
    },
  };
}

const isGuided = (headers: FileHeaders): boolean =>
  headers.has('time_guidance_embed.guidance_embedder.linear_1.weight');

/** The autoencoder has the statistics of its channels beside the networks of AutoencoderKL. */
function withStatistics(layout: PartLayout): PartLayout {
  return {
    ...layout,
    signs: [...layout.signs, 'bn.running_mean', 'bn.running_var'],
    names(headers) {
      const rename = layout.names(headers);
      return (name, shape) =>
        rename(name.replace(/^(encoder|decoder)\.((post_)?quant_conv)\./, '$2.'), shape);
    },
    configure(headers) {
      const { config } = layout.configure(headers);
      const shapes = new Shapes(headers, 'autoencoder');
      const levels = shapes.count((i) => `decoder.up_blocks.${i}.resnets.0.conv1.weight`);
      const widths = Array.from({ length: levels }, (_, i) =>
        shapes.extent(`decoder.up_blocks.${levels - 1 - i}.resnets.0.conv1.weight`, 0),
      );
      return {
        className: 'AutoencoderKLFlux2',
        config: { ...config, decoder_block_out_channels: widths, patch_size: [2, 2], batch_norm_eps: 1e-4 },
      };
    },
  };
}

const SCHEDULE = {
  num_train_timesteps: 1000,
  shift: 3,
  use_dynamic_shifting: true,
  base_shift: 0.5,
  max_shift: 1.15,
  base_image_seq_len: 256,
  max_image_seq_len: 4096,
};
const SCHEDULER: PartConfig = { className: 'FlowMatchEulerDiscreteScheduler', config: SCHEDULE };

const prefixesOf = (...names: string[]): string[] => [
  ...names.flatMap((name) => [`text_encoders.${name}.transformer.`, `text_encoders.${name}.`]),
  'text_encoder.',
  '',
];

export const FLUX2_FILES: FileLayouts = {
  denoiser: 'transformer',
  parts: {
    transformer: [ORIGINAL, DIFFUSERS],
    vae: [withStatistics(ORIGINAL_AUTOENCODER), withStatistics(DIFFUSERS_AUTOENCODER)],
    text_encoder: [mistralParts(prefixesOf('mistral3_24b'))],
  },
  accepts: ({ config }) => config['guidance_embeds'] === true,
  configs: {},
  tokenizers: {},
  describe: async () => ({ className: 'Flux2Pipeline', settings: {}, scheduler: SCHEDULER }),
  repository: 'black-forest-labs/FLUX.2-dev',
};

/** Tensors do not show whether a model is distilled to a few steps; the names of the published base models do. */
export const FLUX2_KLEIN_FILES: FileLayouts = {
  ...FLUX2_FILES,
  parts: {
    ...FLUX2_FILES.parts,
    text_encoder: [decoderParts(prefixesOf('qwen3_4b', 'qwen3_8b'), 'Qwen3ForCausalLM')],
  },
  accepts: ({ config }) => config['guidance_embeds'] !== true,
  describe: async (_, { name }) => ({
    className: 'Flux2KleinPipeline',
    settings: { is_distilled: !/base/i.test(name) },
    scheduler: SCHEDULER,
  }),
  repository: 'black-forest-labs/FLUX.2-klein-4B',
};
