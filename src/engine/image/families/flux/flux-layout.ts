// Files of FLUX.1: the transformer with the names of Black Forest Labs' program or of diffusers, CLIP and T5 with those of transformers, and the
// autoencoder. sources: diffusers' loaders/single_file_utils.py, ComfyUI's model_detection.py

import type {
  FileHeaders,
  FileLayouts,
  NamedRows,
  PartConfig,
  PartLayout,
} from '../../../../files/pipeline/file-layout.ts';
import { equalRows } from '../../../../files/pipeline/renamed-tensors.ts';
import { DIFFUSERS_AUTOENCODER, ORIGINAL_AUTOENCODER } from '../../layouts/autoencoder.ts';
import { CLIP_TOKENIZER, transformersClip } from '../../layouts/clip.ts';
import { Shapes } from '../../layouts/shapes.ts';
import { T5_GGUF, t5Parts } from '../../layouts/t5.ts';

const PREFIXES = ['model.diffusion_model.', 'diffusion_model.', 'transformer.', ''];

const ORIGINAL: PartLayout = {
  prefixes: PREFIXES,
  signs: [
    'img_in.weight',
    'time_in.in_layer.weight',
    'vector_in.in_layer.weight',
    'double_blocks.0.img_attn.qkv.weight',
    'single_blocks.0.linear1.weight',
  ],
  names: () => originalNames,
  configure: fluxConfig,
};

const DIFFUSERS: PartLayout = {
  prefixes: PREFIXES,
  signs: [
    'x_embedder.weight',
    'context_embedder.weight',
    'time_text_embed.text_embedder.linear_1.weight',
    'transformer_blocks.0.norm1_context.linear.weight',
    'single_transformer_blocks.0.proj_mlp.weight',
  ],
  names: () => (name) => name,
  configure: fluxConfig,
};

/** Modules of FLUX.1, FLUX.2 and Chroma with the same tensors under another name. */
export const SHARED_MODULES: readonly (readonly [RegExp, string])[] = [
  [/^final_layer\.linear\./, 'proj_out.'],
  [/^double_blocks\./, 'transformer_blocks.'],
  [/^single_blocks\./, 'single_transformer_blocks.'],
  [/^img_in\./, 'x_embedder.'],
  [/^txt_in\./, 'context_embedder.'],
  [/\.img_attn\.norm\.query_norm\.(scale|weight)$/, '.attn.norm_q.weight'],
  [/\.img_attn\.norm\.key_norm\.(scale|weight)$/, '.attn.norm_k.weight'],
  [/\.txt_attn\.norm\.query_norm\.(scale|weight)$/, '.attn.norm_added_q.weight'],
  [/\.txt_attn\.norm\.key_norm\.(scale|weight)$/, '.attn.norm_added_k.weight'],
  [/(blocks\.\d+)\.norm\.query_norm\.(scale|weight)$/, '$1.attn.norm_q.weight'],
  [/(blocks\.\d+)\.norm\.key_norm\.(scale|weight)$/, '$1.attn.norm_k.weight'],
  [/\.img_attn\.proj\./, '.attn.to_out.0.'],
  [/\.txt_attn\.proj\./, '.attn.to_add_out.'],
];

/** Modules with the same tensors under another name. */
const MODULES: readonly (readonly [RegExp, string])[] = [
  ...SHARED_MODULES,
  [/^time_in\.in_layer\./, 'time_text_embed.timestep_embedder.linear_1.'],
  [/^time_in\.out_layer\./, 'time_text_embed.timestep_embedder.linear_2.'],
  [/^guidance_in\.in_layer\./, 'time_text_embed.guidance_embedder.linear_1.'],
  [/^guidance_in\.out_layer\./, 'time_text_embed.guidance_embedder.linear_2.'],
  [/^vector_in\.in_layer\./, 'time_text_embed.text_embedder.linear_1.'],
  [/^vector_in\.out_layer\./, 'time_text_embed.text_embedder.linear_2.'],
  [/\.img_mod\.lin\./, '.norm1.linear.'],
  [/\.txt_mod\.lin\./, '.norm1_context.linear.'],
  [/\.modulation\.lin\./, '.norm.linear.'],
  [/\.img_mlp\.0\./, '.ff.net.0.proj.'],
  [/\.img_mlp\.2\./, '.ff.net.2.'],
  [/\.txt_mlp\.0\./, '.ff_context.net.0.proj.'],
  [/\.txt_mlp\.2\./, '.ff_context.net.2.'],
  [/\.linear2\./, '.proj_out.'],
];

/** Queries, keys and values of an image and of a text, as they stand in one tensor. */
const FUSED: Readonly<Record<string, readonly string[]>> = {
  img_attn: ['to_q', 'to_k', 'to_v'],
  txt_attn: ['add_q_proj', 'add_k_proj', 'add_v_proj'],
};

/** Names of queries, keys and values for a tensor of a double block that holds all three; null: it is another tensor. */
export function fusedAttention(name: string, shape: readonly number[]): NamedRows[] | null {
  const [, block, attention, kind] =
    /^double_blocks\.(\d+)\.(img_attn|txt_attn)\.qkv\.(weight|bias)$/.exec(name) ?? [];
  if (block === undefined) return null;
  const names = FUSED[attention!]!.map((part) => `transformer_blocks.${block}.attn.${part}.${kind}`);
  return equalRows(names, shape);
}

/** Names of the original program. */
export function originalNames(name: string, shape: readonly number[]): string | readonly NamedRows[] {
  const attention = fusedAttention(name, shape);
  if (attention) return attention;
  const [, single, of] = /^single_blocks\.(\d+)\.linear1\.(weight|bias)$/.exec(name) ?? [];
  if (single !== undefined) return singleRows(`single_transformer_blocks.${single}`, of!, shape);
  const [, final] = /^final_layer\.adaLN_modulation\.1\.(weight|bias)$/.exec(name) ?? [];
  // Diffusers has the scale before the shift.
  if (final !== undefined) return equalRows([`norm_out.shift.${final}`, `norm_out.scale.${final}`], shape);
  return MODULES.reduce((renamed, [pattern, other]) => renamed.replace(pattern, other), name);
}

/** Queries, keys, values and the feed-forward part, which is four times as wide, in one tensor. */
function singleRows(block: string, kind: string, [rows = 0]: readonly number[]): NamedRows[] {
  const count = rows / 7;
  const parts = ['q', 'k', 'v'].map((part, i) => ({
    name: `${block}.attn.to_${part}.${kind}`,
    rows: { first: i * count, count },
  }));
  return [...parts, { name: `${block}.proj_mlp.${kind}`, rows: { first: 3 * count, count: 4 * count } }];
}

/** Dimensions of a head that are rotated by image, by row and by column, as shares of 16. */
const AXES = [2, 7, 7] as const;

/** Values that configurations of FLUX.1 and of Chroma have. */
export function sharedConfig(shapes: Shapes) {
  const hidden = shapes.extent('x_embedder.weight', 0);
  const dims = shapes.extent('transformer_blocks.0.attn.norm_q.weight', 0);
  return {
    patch_size: 1,
    in_channels: shapes.extent('x_embedder.weight', 1),
    out_channels: shapes.extent('proj_out.weight', 0),
    attention_head_dim: dims,
    num_attention_heads: Math.max(1, Math.floor(hidden / dims)),
    joint_attention_dim: shapes.extent('context_embedder.weight', 1),
    axes_dims_rope: AXES.map((share) => (share * dims) / 16),
  };
}

function fluxConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'transformer');
  return {
    className: 'FluxTransformer2DModel',
    config: {
      ...sharedConfig(shapes),
      num_layers: shapes.count((i) => `transformer_blocks.${i}.norm1.linear.weight`),
      num_single_layers: shapes.count((i) => `single_transformer_blocks.${i}.norm.linear.weight`),
      pooled_projection_dim: shapes.extent('time_text_embed.text_embedder.linear_1.weight', 1),
      guidance_embeds: headers.has('time_text_embed.guidance_embedder.linear_1.weight'),
    },
  };
}

/** Schedules of the models with the guidance input, and of those without it. */
const DYNAMIC = {
  num_train_timesteps: 1000,
  shift: 3,
  use_dynamic_shifting: true,
  base_shift: 0.5,
  max_shift: 1.15,
  base_image_seq_len: 256,
  max_image_seq_len: 4096,
};
const STATIC = { num_train_timesteps: 1000, shift: 1, use_dynamic_shifting: false };

/** Whether a transformer takes latents alone. */
function seesLatents(transformer: PartConfig | undefined): boolean {
  const { in_channels: inputs, out_channels: outputs } = transformer?.config ?? {};
  return inputs === outputs;
}

/** The class of a transformer with further inputs: a control image's are as many as those of the latents. */
function classBeside(transformer: PartConfig | undefined): string {
  const { in_channels: inputs, out_channels: outputs } = transformer?.config ?? {};
  return Number(inputs) === 2 * Number(outputs) ? 'FluxControlPipeline' : 'FluxFillPipeline';
}

/** `className`: that of models whose transformer takes latents alone. */
function describe(className: string): FileLayouts['describe'] {
  return async ({ transformer }) => ({
    className: seesLatents(transformer) ? className : classBeside(transformer),
    settings: {},
    scheduler: {
      className: 'FlowMatchEulerDiscreteScheduler',
      config: transformer?.config['guidance_embeds'] === true ? DYNAMIC : STATIC,
    },
  });
}

export const FLUX_FILES: FileLayouts = {
  denoiser: 'transformer',
  parts: {
    transformer: [ORIGINAL, DIFFUSERS],
    vae: [ORIGINAL_AUTOENCODER, DIFFUSERS_AUTOENCODER],
    text_encoder: transformersClip(
      ['text_encoders.clip_l.transformer.', 'text_encoders.clip_l.', 'text_encoder.', ''],
      false,
    ),
    text_encoder_2: [
      t5Parts(['text_encoders.t5xxl.transformer.', 'text_encoders.t5xxl.', 'text_encoder_2.', '']),
      T5_GGUF,
    ],
  },
  accepts: () => true,
  configs: { vae: { scaling_factor: 0.3611, shift_factor: 0.1159 } },
  tokenizers: { tokenizer: CLIP_TOKENIZER },
  describe: describe('FluxPipeline'),
  repository: 'black-forest-labs/FLUX.1-schnell',
};

/** Files of the model that edits images: their tensors are those of FLUX.1 dev, and a word in their names tells them apart. */
export const FLUX_KONTEXT_FILES: FileLayouts = {
  ...FLUX_FILES,
  accepts: seesLatents,
  prefers: ({ name }) => /kontext/i.test(name),
  describe: describe('FluxKontextPipeline'),
};
