// Files of Qwen-Image as ComfyUI writes them: the transformer, whose names are diffusers', Qwen2.5-VL with the names of transformers, and the
// autoencoder with those of Wan, from which it was made. sources: diffusers' loaders/single_file_utils.py, the model's repository

import type {
  FileHeaders,
  FileLayouts,
  PartConfig,
  PartLayout,
} from '../../../../files/pipeline/file-layout.ts';
import { decoderSizes, headsOf } from '../../layouts/decoder.ts';
import { nunchakuLayout } from '../../layouts/nunchaku-names.ts';
import {
  encoderPrefixes,
  fileLayouts,
  flowSchedule,
  TRANSFORMER_PREFIXES,
} from '../../layouts/part-layouts.ts';
import { Shapes } from '../../layouts/shapes.ts';
import { causalLayouts, LATENT_STATISTICS } from '../../layouts/causal-autoencoder.ts';

const FIRST = 'transformer_blocks.0';
/** Mark of models whose reference images are modulated as at time 0. */
const CLEAN_REFERENCES = '__index_timestep_zero__';

const TRANSFORMER: PartLayout = {
  prefixes: TRANSFORMER_PREFIXES,
  signs: ['img_in.weight', 'txt_norm.weight', `${FIRST}.img_mod.1.weight`, `${FIRST}.attn.norm_q.weight`],
  names: () => (name) => (name === CLEAN_REFERENCES ? [] : name),
  configure(headers) {
    const shapes = new Shapes(headers, 'transformer');
    const dims = shapes.extent(`${FIRST}.attn.norm_q.weight`, 0);
    return {
      className: 'QwenImageTransformer2DModel',
      config: {
        in_channels: shapes.extent('img_in.weight', 1),
        out_channels: Math.floor(shapes.extent('proj_out.weight', 0) / PATCH ** 2),
        num_layers: shapes.count((i) => `transformer_blocks.${i}.img_mod.1.weight`),
        attention_head_dim: dims,
        num_attention_heads: Math.floor(shapes.extent('img_in.weight', 0) / dims),
        joint_attention_dim: shapes.extent('txt_in.weight', 1),
        axes_dims_rope: AXES.map((share) => (share * dims) / 16),
      },
    };
  },
};

const NUNCHAKU = nunchakuLayout(TRANSFORMER, [
  'img_in.weight',
  'txt_norm.weight',
  `${FIRST}.img_mod.1.weight`,
  `${FIRST}.attn.to_qkv.weight`,
]);

/** Latents along one side of a token. */
const PATCH = 2;
/** Dimensions of a head that are rotated by image, by row and by column, as shares of 16. */
const AXES = [2, 7, 7] as const;

const TEXT_ENCODER: PartLayout = {
  prefixes: encoderPrefixes('text_encoder', 'qwen25_7b'),
  signs: [
    'visual.patch_embed.proj.weight',
    'model.layers.0.self_attn.q_proj.bias',
    'model.embed_tokens.weight',
  ],
  names: () => (name) => name,
  configure: languageConfig,
};

/** Names of transformers since version 5, which keeps both halves within one model. */
const NESTED_TEXT_ENCODER: PartLayout = {
  ...TEXT_ENCODER,
  signs: TEXT_ENCODER.signs.map(nested),
  names: () => (name) =>
    name.replace(/^model\.language_model\./, 'model.').replace(/^model\.visual\./, 'visual.'),
};

function nested(name: string): string {
  return name.replace(/^model\./, 'model.language_model.').replace(/^visual\./, 'model.visual.');
}

/** Columns of a head of Qwen2.5's language models, and dimensions that time, row and column rotate. */
const HEAD_DIMS = 128;
const SECTIONS = [16, 24, 24];

function languageConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'text encoder');
  const { extent } = shapes;
  const depth = shapes.count((i) => `visual.blocks.${i}.norm1.weight`);
  return {
    className: 'Qwen2_5_VLForConditionalGeneration',
    config: {
      model_type: 'qwen2_5_vl',
      architectures: ['Qwen2_5_VLForConditionalGeneration'],
      tie_word_embeddings: false,
      text_config: {
        model_type: 'qwen2_5_vl_text',
        ...decoderSizes(shapes),
        ...headsOf(shapes, HEAD_DIMS),
        rms_norm_eps: 1e-6,
        rope_theta: 1_000_000,
        max_position_embeddings: 128_000,
        rope_scaling: { type: 'default', rope_type: 'default', mrope_section: SECTIONS },
        tie_word_embeddings: false,
      },
      vision_config: {
        model_type: 'qwen2_5_vl_vision',
        depth,
        hidden_size: extent('visual.patch_embed.proj.weight', 0),
        intermediate_size: extent('visual.blocks.0.mlp.gate_proj.weight', 0),
        out_hidden_size: extent('model.embed_tokens.weight', 1),
        num_heads: 16,
        patch_size: 14,
        window_size: 112,
        fullatt_block_indexes: [7, 15, 23, 31],
        spatial_merge_size: 2,
        temporal_patch_size: 2,
        hidden_act: 'silu',
        in_channels: 3,
      },
      image_token_id: 151_655,
      vision_start_token_id: 151_652,
      vision_end_token_id: 151_653,
      video_token_id: 151_656,
    },
  };
}

const SCHEDULE = {
  shift: 1,
  use_dynamic_shifting: true,
  base_shift: 0.5,
  max_shift: 0.9,
  base_image_seq_len: 256,
  max_image_seq_len: 8192,
  shift_terminal: 0.02,
  time_shift_type: 'exponential',
};
/** The shift of the Lightning models, which were distilled with 3 for all sizes. */
const LIGHTNING = { base_shift: Math.log(3), max_shift: Math.log(3), shift_terminal: null };

function describe(className: string): FileLayouts['describe'] {
  return async (_, { name, headers }) => ({
    className,
    settings: {},
    scheduler: flowSchedule({ ...SCHEDULE, ...(/lightning/i.test(name) && LIGHTNING) }),
    configs: { transformer: { zero_cond_t: hasCleanReferences(headers) } },
  });
}

function hasCleanReferences(headers: FileHeaders): boolean {
  return [...headers.keys()].some((key) => key.endsWith(CLEAN_REFERENCES));
}

export const QWEN_IMAGE_FILES = fileLayouts({
  parts: {
    transformer: [NUNCHAKU, TRANSFORMER],
    vae: causalLayouts('AutoencoderKLQwenImage'),
    text_encoder: [TEXT_ENCODER, NESTED_TEXT_ENCODER],
  },
  configs: { vae: LATENT_STATISTICS[16] },
  describe: describe('QwenImagePipeline'),
  repository: 'Qwen/Qwen-Image',
});

/** Qwen2-VL's processor, whose settings all published models share. */
const PROCESSOR: PartConfig = {
  className: 'Qwen2VLProcessor',
  config: {
    min_pixels: 3136,
    max_pixels: 12_845_056,
    patch_size: 14,
    temporal_patch_size: 2,
    merge_size: 2,
    image_mean: [0.48145466, 0.4578275, 0.40821073],
    image_std: [0.26862954, 0.26130258, 0.27577711],
    image_processor_type: 'Qwen2VLImageProcessor',
  },
};

/** Files of the models that edit images: their tensors are those of Qwen-Image, and a word in their names tells them apart. */
export const QWEN_IMAGE_EDIT_FILES: FileLayouts = {
  ...QWEN_IMAGE_FILES,
  prefers: ({ name }) => /edit/i.test(name) && !PLUS.test(name),
  builtIn: { processor: PROCESSOR },
  describe: describe('QwenImageEditPipeline'),
  repository: 'Qwen/Qwen-Image-Edit',
};

const PLUS = /edit[-_]?(plus|25\d\d)/i;

export const QWEN_IMAGE_EDIT_PLUS_FILES: FileLayouts = {
  ...QWEN_IMAGE_EDIT_FILES,
  prefers: ({ name, headers }) => PLUS.test(name) || hasCleanReferences(headers),
  describe: describe('QwenImageEditPlusPipeline'),
  repository: 'Qwen/Qwen-Image-Edit-2509',
};
