// Files of Stable Diffusion 3 and 3.5: the transformer with the names of Stability's program or of diffusers; CLIP, T5 and the autoencoder
// within the file or beside it. sources: diffusers' loaders/single_file_utils.py, ComfyUI's supported_models.py

import type { FileHeaders, NamedRows, PartConfig, Rename } from '../../../../files/pipeline/file-layout.ts';
import { equalRows } from '../../../../files/pipeline/renamed-tensors.ts';
import { AUTOENCODER_LAYOUTS } from '../../layouts/autoencoder.ts';
import { CLIP_TOKENIZER, OPEN_CLIP_TOKENIZER, transformersClip } from '../../layouts/clip.ts';
import {
  bothLayouts,
  encoderPrefixes,
  fileLayouts,
  flowSchedule,
  renamedModules,
  type ModuleNames,
} from '../../layouts/part-layouts.ts';
import { countNames, Shapes } from '../../layouts/shapes.ts';
import { t5Layouts } from '../../layouts/t5.ts';

/** Modules with the same tensors under another name. */
const MODULES: ModuleNames = [
  [/^pos_embed$/, 'pos_embed.pos_embed'],
  [/^x_embedder\.proj\./, 'pos_embed.proj.'],
  [/^t_embedder\.mlp\.0\./, 'time_text_embed.timestep_embedder.linear_1.'],
  [/^t_embedder\.mlp\.2\./, 'time_text_embed.timestep_embedder.linear_2.'],
  [/^y_embedder\.mlp\.0\./, 'time_text_embed.text_embedder.linear_1.'],
  [/^y_embedder\.mlp\.2\./, 'time_text_embed.text_embedder.linear_2.'],
  [/^final_layer\.linear\./, 'proj_out.'],
  [/^joint_blocks\./, 'transformer_blocks.'],
  [/\.x_block\.adaLN_modulation\.1\./, '.norm1.linear.'],
  [/\.context_block\.adaLN_modulation\.1\./, '.norm1_context.linear.'],
  [/\.x_block\.(attn2?)\.ln_([qk])\./, '.$1.norm_$2.'],
  [/\.context_block\.attn\.ln_([qk])\./, '.attn.norm_added_$1.'],
  [/\.x_block\.(attn2?)\.proj\./, '.$1.to_out.0.'],
  [/\.context_block\.attn\.proj\./, '.attn.to_add_out.'],
  [/\.x_block\.mlp\.fc1\./, '.ff.net.0.proj.'],
  [/\.x_block\.mlp\.fc2\./, '.ff.net.2.'],
  [/\.context_block\.mlp\.fc1\./, '.ff_context.net.0.proj.'],
  [/\.context_block\.mlp\.fc2\./, '.ff_context.net.2.'],
];

/** Queries, keys and values of an image and of a text, as they stand in one tensor. */
const OF_IMAGE = ['to_q', 'to_k', 'to_v'];
const OF_TEXT = ['add_q_proj', 'add_k_proj', 'add_v_proj'];

/** `last`: number of the last block, which does not go on with the text. */
export function originalNames(last: number): Rename {
  const ends: readonly (readonly [string, string])[] = [
    ['final_layer', 'norm_out'],
    [`joint_blocks.${last}.context_block`, `transformer_blocks.${last}.norm1_context`],
  ];
  return (name, shape): string | readonly NamedRows[] => {
    const [, block, side, attention, kind] =
      /^joint_blocks\.(\d+)\.(x|context)_block\.(attn2?)\.qkv\.(weight|bias)$/.exec(name) ?? [];
    if (block !== undefined)
      return equalRows(
        (side === 'x' ? OF_IMAGE : OF_TEXT).map(
          (part) => `transformer_blocks.${block}.${attention}.${part}.${kind}`,
        ),
        shape,
      );
    for (const [original, norm] of ends) {
      const of = ['weight', 'bias'].find((each) => name === `${original}.adaLN_modulation.1.${each}`);
      // Diffusers has the scale before the shift.
      if (of !== undefined) return equalRows([`${norm}.shift.${of}`, `${norm}.scale.${of}`], shape);
    }
    return renamedModules(MODULES, name);
  };
}

/** Dimensions of a head in all published models; those without norms of heads do not show them. */
const HEAD_DIMS = 64;
/** Latents along a side of the images in training. */
const LATENTS = 128;

function sd3Config(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'transformer');
  const hidden = shapes.extent('context_embedder.weight', 0);
  const norm = 'transformer_blocks.0.attn.norm_q.weight';
  const dims = headers.has(norm) ? shapes.extent(norm, 0) : HEAD_DIMS;
  const layers = shapes.count((i) => `transformer_blocks.${i}.norm1.linear.weight`);
  const isDual = (i: number): boolean => headers.has(`transformer_blocks.${i}.attn2.to_q.weight`);
  return {
    className: 'SD3Transformer2DModel',
    config: {
      sample_size: LATENTS,
      patch_size: 2,
      in_channels: shapes.extent('pos_embed.proj.weight', 1),
      out_channels: Math.floor(shapes.extent('proj_out.weight', 0) / 4),
      num_layers: layers,
      attention_head_dim: dims,
      num_attention_heads: Math.max(1, Math.floor(hidden / dims)),
      joint_attention_dim: shapes.extent('context_embedder.weight', 1),
      caption_projection_dim: hidden,
      pooled_projection_dim: shapes.extent('time_text_embed.text_embedder.linear_1.weight', 1),
      // Some GGUF files have the table without its first dimension, which is 1.
      pos_embed_max_size: Math.floor(Math.sqrt(shapes.extent('pos_embed.pos_embed', -2))),
      dual_attention_layers: Array.from({ length: layers }, (_, i) => i).filter(isDual),
      qk_norm: headers.has(norm) ? 'rms_norm' : null,
    },
  };
}

export const SD3_FILES = fileLayouts({
  parts: {
    transformer: bothLayouts({
      original: [
        'pos_embed',
        'x_embedder.proj.weight',
        'y_embedder.mlp.0.weight',
        'joint_blocks.0.context_block.attn.qkv.weight',
      ],
      diffusers: [
        'pos_embed.pos_embed',
        'context_embedder.weight',
        'time_text_embed.text_embedder.linear_1.weight',
        'transformer_blocks.0.attn.add_q_proj.weight',
      ],
      rename: {
        of(headers) {
          return originalNames(countNames(headers, (i) => `joint_blocks.${i}.x_block.attn.qkv.weight`) - 1);
        },
      },
      configure: sd3Config,
    }),
    vae: AUTOENCODER_LAYOUTS,
    text_encoder: transformersClip(encoderPrefixes('text_encoder', 'clip_l'), true),
    text_encoder_2: transformersClip(encoderPrefixes('text_encoder_2', 'clip_g'), true),
    text_encoder_3: t5Layouts('text_encoder_3'),
  },
  configs: { vae: { scaling_factor: 1.5305, shift_factor: 0.0609 } },
  tokenizers: { tokenizer: CLIP_TOKENIZER, tokenizer_2: OPEN_CLIP_TOKENIZER },
  describe: async ({ transformer }) => {
    const { in_channels: inputs, out_channels: outputs } = transformer?.config ?? {};
    return {
      className: inputs === outputs ? 'StableDiffusion3Pipeline' : 'StableDiffusion3InpaintPipeline',
      settings: {},
      scheduler: flowSchedule({ shift: 3 }),
    };
  },
  repository: 'stabilityai/stable-diffusion-3.5-medium',
});
