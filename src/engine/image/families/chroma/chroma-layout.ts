// Files of Chroma: the transformer with the names of its makers, who kept those of FLUX.1, or of diffusers; T5 and the autoencoder are those
// of FLUX.1. source: diffusers' loaders/single_file_utils.py

import type {
  FileHeaders,
  FileLayouts,
  PartConfig,
  PartLayout,
} from '../../../../files/pipeline/file-layout.ts';
import { FLUX_FILES, originalNames, sharedConfig } from '../flux/flux-layout.ts';
import { Shapes } from '../../layouts/shapes.ts';
import { T5_GGUF, t5Parts } from '../../layouts/t5.ts';

const PREFIXES = ['model.diffusion_model.', 'diffusion_model.', 'transformer.', ''];
const NETWORK = 'distilled_guidance_layer';

const ORIGINAL: PartLayout = {
  prefixes: PREFIXES,
  signs: ['img_in.weight', `${NETWORK}.in_proj.weight`, 'double_blocks.0.img_attn.qkv.weight'],
  names: () => (name, shape) => {
    if (!name.startsWith(`${NETWORK}.`)) return originalNames(name, shape);
    return name
      .replace('.in_layer.', '.linear_1.')
      .replace('.out_layer.', '.linear_2.')
      .replace(/(\.norms\.\d+)\.scale$/, '$1.weight');
  },
  configure: chromaConfig,
};

const DIFFUSERS: PartLayout = {
  prefixes: PREFIXES,
  signs: ['x_embedder.weight', `${NETWORK}.in_proj.weight`, 'single_transformer_blocks.0.proj_mlp.weight'],
  names: () => (name) => name,
  configure: chromaConfig,
};

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

export const CHROMA_FILES: FileLayouts = {
  denoiser: 'transformer',
  parts: {
    transformer: [ORIGINAL, DIFFUSERS],
    vae: FLUX_FILES.parts['vae']!,
    text_encoder: [
      t5Parts(['text_encoders.t5xxl.transformer.', 'text_encoders.t5xxl.', 'text_encoder.', '']),
      T5_GGUF,
    ],
  },
  accepts: () => true,
  configs: { vae: FLUX_FILES.configs['vae']! },
  tokenizers: {},
  describe: async () => ({
    className: 'ChromaPipeline',
    settings: {},
    scheduler: {
      className: 'FlowMatchEulerDiscreteScheduler',
      config: { num_train_timesteps: 1000, shift: 1, use_dynamic_shifting: false, use_beta_sigmas: true },
    },
  }),
  repository: 'lodestones/Chroma1-HD',
};
