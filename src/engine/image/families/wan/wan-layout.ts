// Files of Wan with the names of its makers or of diffusers: a transformer alone, or with UMT5 and the autoencoder. sources: diffusers'
// loaders/single_file_utils.py and scripts/convert_wan_to_diffusers.py

import { unsupported } from '../../../../files/error.ts';
import type {
  FileHeaders,
  FilePipeline,
  OpenedFile,
  PartConfig,
} from '../../../../files/pipeline/file-layout.ts';
import { causalLayouts } from '../../layouts/causal-autoencoder.ts';
import { bothLayouts, fileLayouts, renamedModules, type ModuleNames } from '../../layouts/part-layouts.ts';
import { Shapes } from '../../layouts/shapes.ts';
import { t5Layouts } from '../../layouts/t5.ts';
import { TAEHV_LAYOUTS } from '../../layouts/taehv.ts';

const EMBEDDER = 'condition_embedder';

/** Parts of original names with those of diffusers in their place, in this order. */
const MODULES: ModuleNames = [
  [/^time_embedding\.0\./, `${EMBEDDER}.time_embedder.linear_1.`],
  [/^time_embedding\.2\./, `${EMBEDDER}.time_embedder.linear_2.`],
  [/^time_projection\.1\./, `${EMBEDDER}.time_proj.`],
  [/^text_embedding\.0\./, `${EMBEDDER}.text_embedder.linear_1.`],
  [/^text_embedding\.2\./, `${EMBEDDER}.text_embedder.linear_2.`],
  [/^img_emb\.proj\.0\./, `${EMBEDDER}.image_embedder.norm1.`],
  [/^img_emb\.proj\.1\./, `${EMBEDDER}.image_embedder.ff.net.0.proj.`],
  [/^img_emb\.proj\.3\./, `${EMBEDDER}.image_embedder.ff.net.2.`],
  [/^img_emb\.proj\.4\./, `${EMBEDDER}.image_embedder.norm2.`],
  [/^img_emb\.emb_pos$/, `${EMBEDDER}.image_embedder.pos_embed`],
  [/^head\.head\./, 'proj_out.'],
  [/^head\.modulation$/, 'scale_shift_table'],
  [/(?<=^blocks\.\d+\.)modulation$/, 'scale_shift_table'],
  [/(?<=^blocks\.\d+\.)norm3\./, 'norm2.'],
  [/(?<=^blocks\.\d+\.)ffn\.0\./, 'ffn.net.0.proj.'],
  [/(?<=^blocks\.\d+\.)ffn\.2\./, 'ffn.net.2.'],
  [/(?<=_attn\.)([kv])_img\./, 'add_$1_proj.'],
  [/(?<=_attn\.)norm_k_img\./, 'norm_added_k.'],
  [/(?<=_attn\.)([qkv])\./, 'to_$1.'],
  [/(?<=_attn\.)o\./, 'to_out.0.'],
  [/\.self_attn\./, '.attn1.'],
  [/\.cross_attn\./, '.attn2.'],
];

/** Parts of original names that have underscores. */
export const ORIGINAL_WORDS = [
  ...['self_attn', 'cross_attn', 'k_img', 'v_img', 'norm_q', 'norm_k', 'norm_k_img'],
  ...['time_embedding', 'time_projection', 'text_embedding', 'img_emb', 'patch_embedding'],
];

export const originalName = (name: string): string => renamedModules(MODULES, name);

/** Columns of a head in all published models. */
const DIMS = 128;
const FIRST = 'blocks.0';
const IMAGES = `${EMBEDDER}.image_embedder`;

function transformerConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'transformer');
  const { extent, kernelExtent } = shapes;
  const other = [...headers.keys()].find((name) => OTHER_MODELS.test(name));
  if (other !== undefined)
    throw unsupported(
      `tensor ${other} is of a model that takes further inputs (VACE, Animate, Fun-Control or S2V): choose one that draws from a text or from images of frames`,
      other,
    );
  return {
    className: 'WanTransformer3DModel',
    config: {
      in_channels: kernelExtent('patch_embedding.weight', 1),
      out_channels: Math.floor(extent('proj_out.weight', 0) / 4),
      num_attention_heads: Math.max(1, Math.floor(extent('patch_embedding.weight', 0) / DIMS)),
      attention_head_dim: DIMS,
      num_layers: shapes.count((i) => `blocks.${i}.attn1.to_q.weight`),
      ffn_dim: extent(`${FIRST}.ffn.net.0.proj.weight`, 0),
      text_dim: extent(`${EMBEDDER}.text_embedder.linear_1.weight`, 1),
      freq_dim: extent(`${EMBEDDER}.time_embedder.linear_1.weight`, 1),
      cross_attn_norm: headers.has(`${FIRST}.norm2.weight`),
      image_dim: shapes.find(`${IMAGES}.norm1.weight`, 0) ?? null,
      added_kv_proj_dim: shapes.find(`${FIRST}.attn2.add_k_proj.weight`, 1) ?? null,
      pos_embed_seq_len: shapes.find(`${IMAGES}.pos_embed`, 1) ?? null,
    },
  };
}

/** Tensors of models that the family does not run. */
const OTHER_MODELS =
  /^(vace_|motion_encoder\.|face_adapter\.|control_adapter\.|ref_conv\.|casual_audio_encoder\.|audio_)/;

const TRANSFORMER = bothLayouts({
  original: ['patch_embedding.weight', 'head.modulation', `${FIRST}.self_attn.q.weight`],
  diffusers: ['patch_embedding.weight', `${EMBEDDER}.time_proj.weight`, `${FIRST}.attn1.to_q.weight`],
  rename: originalName,
  configure: transformerConfig,
});

/** The schedule of published models. */
const schedule = (shift: number): PartConfig => ({
  className: 'UniPCMultistepScheduler',
  config: {
    num_train_timesteps: 1000,
    solver_order: 2,
    prediction_type: 'flow_prediction',
    use_flow_sigmas: true,
    flow_shift: shift,
  },
});

/** Latents of Wan 2.2 in which an image takes the place of the first frame. */
const TI2V_CHANNELS = 48;
const SMALL_LAYERS = 30;

async function describe(
  { transformer }: Readonly<Record<string, PartConfig>>,
  { name }: OpenedFile,
): Promise<FilePipeline> {
  const { in_channels: inputs, out_channels: channels, num_layers: layers } = transformer!.config;
  const seesImages = Number(inputs) > Number(channels);
  const expands = channels === TI2V_CHANNELS;
  // Of two transformers in files of their own, the one for high noise levels is the first.
  const isFirst = /high[-_ ]?noise/i.test(name);
  const boundary = isFirst ? (seesImages ? 0.9 : 0.875) : null;
  const small = Number(layers) <= SMALL_LAYERS && !expands;
  const shift = isFirst && !seesImages ? 12 : small || /480p/i.test(name) ? 3 : 5;
  return {
    className: seesImages ? 'WanImageToVideoPipeline' : 'WanPipeline',
    settings: { boundary_ratio: boundary, expand_timesteps: expands },
    scheduler: schedule(shift),
  };
}

export const WAN_FILES = fileLayouts({
  parts: {
    transformer: TRANSFORMER,
    transformer_2: TRANSFORMER,
    vae: [...causalLayouts('AutoencoderKLWan'), ...TAEHV_LAYOUTS],
    text_encoder: t5Layouts('text_encoder', 'umt5xxl'),
  },
  describe,
  repository: 'Wan-AI/Wan2.1-T2V-1.3B-Diffusers',
});
