// Files of FLUX.2: the transformer with the names of Black Forest Labs' program or of diffusers, the autoencoder likewise, and language
// models with those of transformers. sources: diffusers' loaders/single_file_utils.py and scripts/convert_flux2_to_diffusers.py

import type {
  FileHeaders,
  FileLayouts,
  PartConfig,
  PartLayout,
  Rename,
} from '../../../../files/pipeline/file-layout.ts';
import { AUTOENCODER_LAYOUTS } from '../../layouts/autoencoder.ts';
import { mistralLayout, qwenLayout } from '../../layouts/decoder.ts';
import { embedders, fusedRows, SHARED_MODULES, sharedConfig } from '../../layouts/flux-names.ts';
import {
  bothLayouts,
  DYNAMIC_SHIFT,
  encoderPrefixes,
  fileLayouts,
  flowSchedule,
  renamedModules,
  type ModuleNames,
} from '../../layouts/part-layouts.ts';
import { Shapes } from '../../layouts/shapes.ts';

/** Modules with the same tensors under another name. */
const MODULES: ModuleNames = [
  ...SHARED_MODULES,
  ...embedders('time_guidance_embed'),
  [/^((?:double|single)_stream_modulation\w*)\.lin\./, '$1.linear.'],
  [/\.img_mlp\.0\./, '.ff.linear_in.'],
  [/\.img_mlp\.2\./, '.ff.linear_out.'],
  [/\.txt_mlp\.0\./, '.ff_context.linear_in.'],
  [/\.txt_mlp\.2\./, '.ff_context.linear_out.'],
  [/\.linear1\./, '.attn.to_qkv_mlp_proj.'],
  [/\.linear2\./, '.attn.to_out.'],
];

/** Names of the original program. */
export const flux2Names: Rename = (name, shape) => fusedRows(name, shape) ?? renamedModules(MODULES, name);

/** Axes by which positions are rotated, with equally many dimensions of a head each. */
const AXES = [1, 1, 1, 1];

function flux2Config(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'transformer');
  const hidden = shapes.extent('x_embedder.weight', 0);
  const ffn = shapes.extent('transformer_blocks.0.ff.linear_out.weight', 1);
  return {
    className: 'Flux2Transformer2DModel',
    config: {
      ...sharedConfig(shapes, AXES),
      num_layers: shapes.count((i) => `transformer_blocks.${i}.ff.linear_out.weight`),
      num_single_layers: shapes.count((i) => `single_transformer_blocks.${i}.attn.to_out.weight`),
      timestep_guidance_channels: shapes.extent('time_guidance_embed.timestep_embedder.linear_1.weight', 1),
      mlp_ratio: (ffn + 0.5) / hidden, // whose product with the width is rounded down
      guidance_embeds: headers.has('time_guidance_embed.guidance_embedder.linear_1.weight'),
    },
  };
}

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

const SCHEDULER = flowSchedule(DYNAMIC_SHIFT);

export const FLUX2_FILES = fileLayouts({
  parts: {
    transformer: bothLayouts({
      original: [
        'img_in.weight',
        'double_stream_modulation_img.lin.weight',
        'double_blocks.0.img_attn.qkv.weight',
        'single_blocks.0.linear1.weight',
      ],
      diffusers: [
        'x_embedder.weight',
        'double_stream_modulation_img.linear.weight',
        'single_transformer_blocks.0.attn.to_qkv_mlp_proj.weight',
      ],
      rename: flux2Names,
      configure: flux2Config,
    }),
    vae: AUTOENCODER_LAYOUTS.map(withStatistics),
    text_encoder: [mistralLayout(encoderPrefixes('text_encoder', 'mistral3_24b'))],
  },
  accepts: ({ config }) => config['guidance_embeds'] === true,
  describe: async () => ({ className: 'Flux2Pipeline', settings: {}, scheduler: SCHEDULER }),
  repository: 'black-forest-labs/FLUX.2-dev',
});

/** Tensors do not show whether a model is distilled to a few steps; the names of the published base models do. */
export const FLUX2_KLEIN_FILES: FileLayouts = {
  ...FLUX2_FILES,
  parts: {
    ...FLUX2_FILES.parts,
    text_encoder: [qwenLayout(encoderPrefixes('text_encoder', 'qwen3_4b', 'qwen3_8b'))],
  },
  accepts: ({ config }) => config['guidance_embeds'] !== true,
  describe: async (_, { name }) => ({
    className: 'Flux2KleinPipeline',
    settings: { is_distilled: !/base/i.test(name) },
    scheduler: SCHEDULER,
  }),
  repository: 'black-forest-labs/FLUX.2-klein-4B',
};
