// Files of Chroma: the transformer with the names of its makers, who kept those of FLUX.1, or of diffusers; T5 and the autoencoder are those
// of FLUX.1. source: diffusers' loaders/single_file_utils.py

import type { FileHeaders, PartConfig } from '../../../../files/pipeline/file-layout.ts';
import { AUTOENCODER_LAYOUTS, FLUX_SCALES } from '../../layouts/autoencoder.ts';
import { fluxNames, sharedConfig } from '../../layouts/flux-names.ts';
import { bothLayouts, fileLayouts, flowSchedule } from '../../layouts/part-layouts.ts';
import { Shapes } from '../../layouts/shapes.ts';
import { t5Layouts } from '../../layouts/t5.ts';

const NETWORK = 'distilled_guidance_layer';

function chromaConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'transformer');
  return {
    className: 'ChromaTransformer2DModel',
    config: {
      ...sharedConfig(shapes),
      num_layers: shapes.count((i) => `transformer_blocks.${i}.attn.to_q.weight`),
      num_single_layers: shapes.count((i) => `single_transformer_blocks.${i}.proj_mlp.weight`),
      approximator_num_channels: shapes.extent(`${NETWORK}.in_proj.weight`, 1),
      approximator_hidden_dim: shapes.extent(`${NETWORK}.in_proj.weight`, 0),
      approximator_layers: shapes.count((i) => `${NETWORK}.norms.${i}.weight`),
    },
  };
}

export const CHROMA_FILES = fileLayouts({
  parts: {
    transformer: bothLayouts({
      original: ['img_in.weight', `${NETWORK}.in_proj.weight`, 'double_blocks.0.img_attn.qkv.weight'],
      diffusers: [
        'x_embedder.weight',
        `${NETWORK}.in_proj.weight`,
        'single_transformer_blocks.0.proj_mlp.weight',
      ],
      rename(name, shape) {
        if (!name.startsWith(`${NETWORK}.`)) return fluxNames(name, shape);
        return name
          .replace('.in_layer.', '.linear_1.')
          .replace('.out_layer.', '.linear_2.')
          .replace(/(\.norms\.\d+)\.scale$/, '$1.weight');
      },
      configure: chromaConfig,
    }),
    vae: AUTOENCODER_LAYOUTS,
    text_encoder: t5Layouts('text_encoder'),
  },
  configs: { vae: FLUX_SCALES },
  describe: async () => ({
    className: 'ChromaPipeline',
    settings: {},
    scheduler: flowSchedule({ shift: 1, use_dynamic_shifting: false, use_beta_sigmas: true }),
  }),
  repository: 'lodestones/Chroma1-HD',
});
