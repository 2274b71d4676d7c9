// Files of Lumina 2 with the names of its makers or of diffusers: the transformer alone, or with Gemma 2 and the autoencoder, as ComfyUI writes
// them. source: diffusers' loaders/single_file_utils.py, ComfyUI's model_detection.py

import type {
  FileHeaders,
  NamedRows,
  PartConfig,
  PartLayout,
} from '../../../../files/pipeline/file-layout.ts';
import { AUTOENCODER_LAYOUTS, FLUX_SCALES } from '../../layouts/autoencoder.ts';
import { decoderSizes, headsOf } from '../../layouts/decoder.ts';
import {
  bothLayouts,
  encoderPrefixes,
  fileLayouts,
  flowSchedule,
  renamedModules,
  type ModuleNames,
} from '../../layouts/part-layouts.ts';
import { Shapes } from '../../layouts/shapes.ts';

/** Parts of original names with those of diffusers in their place, in this order. */
const MODULES: ModuleNames = [
  [/^cap_embedder\./, 'time_caption_embed.caption_embedder.'],
  [/^t_embedder\.mlp\.0\./, 'time_caption_embed.timestep_embedder.linear_1.'],
  [/^t_embedder\.mlp\.2\./, 'time_caption_embed.timestep_embedder.linear_2.'],
  [/^final_layer\.adaLN_modulation\.1\./, 'norm_out.linear_1.'],
  [/^final_layer\.linear\./, 'norm_out.linear_2.'],
  [/^(context_refiner\.\d+)\.attention_norm1\./, '$1.norm1.'],
  [/\.attention_norm1\./, '.norm1.norm.'],
  [/\.attention_norm2\./, '.norm2.'],
  [/\.adaLN_modulation\.1\./, '.norm1.linear.'],
  [/\.attention\.out\./, '.attn.to_out.0.'],
  [/\.attention\.([qk])_norm\./, '.attn.norm_$1.'],
  [/\.attention\./, '.attn.'],
  [/\.feed_forward\.w/, '.feed_forward.linear_'],
];

/** Parts of original names that have underscores. */
export const ORIGINAL_WORDS = [
  ...['noise_refiner', 'context_refiner', 'feed_forward', 'cap_embedder', 't_embedder', 'x_embedder'],
  ...['final_layer', 'adaLN_modulation', 'to_q', 'to_k', 'to_v', 'q_norm', 'k_norm'],
];

/** Names of the original program, in which queries, and keys and values of fewer heads, stand in one tensor. */
export function originalNames(
  name: string,
  [all = 0, hidden = 0]: readonly number[],
): string | readonly NamedRows[] {
  // A norm that the model does not run.
  if (name === 'norm_final.weight') return [];
  const renamed = renamedModules(MODULES, name);
  const [, attention] = /^(.*\.attn)\.qkv\.weight$/.exec(renamed) ?? [];
  if (attention === undefined) return renamed;
  const shared = (all - hidden) / 2;
  return [
    { name: `${attention}.to_q.weight`, rows: { first: 0, count: hidden } },
    { name: `${attention}.to_k.weight`, rows: { first: hidden, count: shared } },
    { name: `${attention}.to_v.weight`, rows: { first: hidden + shared, count: shared } },
  ];
}

/** Axes by which positions are rotated, with equally many dimensions of a head each. */
const AXES = 3;

function lumina2Config(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'transformer');
  const [hidden, columns] = [0, 1].map((axis) => shapes.extent('x_embedder.weight', axis)) as [
    number,
    number,
  ];
  const dims = shapes.extent('layers.0.attn.norm_q.weight', 0);
  const heads = (part: 'q' | 'k'): number =>
    Math.max(1, Math.floor(shapes.extent(`layers.0.attn.to_${part}.weight`, 0) / dims));
  return {
    className: 'Lumina2Transformer2DModel',
    config: {
      in_channels: Math.floor(columns / 4),
      hidden_size: hidden,
      num_layers: shapes.count((i) => `layers.${i}.attn.to_q.weight`),
      num_refiner_layers: shapes.count((i) => `noise_refiner.${i}.attn.to_q.weight`),
      num_attention_heads: heads('q'),
      num_kv_heads: heads('k'),
      // Half a channel more, so that rounding down gives the width again.
      ffn_dim_multiplier: (shapes.extent('layers.0.feed_forward.linear_1.weight', 0) + 0.5) / (4 * hidden),
      multiple_of: 1,
      cap_feat_dim: shapes.extent('time_caption_embed.caption_embedder.1.weight', 1),
      axes_dim_rope: Array.from({ length: AXES }, () => Math.floor(dims / AXES)),
      axes_lens: [300, 512, 512],
    },
  };
}

/** The tokenizer's file, which ComfyUI keeps as a tensor. */
const VOCABULARY = 'spiece_model';
const GEMMA_CLASS = 'Gemma2ForCausalLM';
/** Columns of a head of Gemma 2 2B. */
const GEMMA_DIMS = 256;

const GEMMA: PartLayout = {
  prefixes: encoderPrefixes('text_encoder', 'gemma2_2b'),
  signs: [
    'model.embed_tokens.weight',
    'model.layers.0.pre_feedforward_layernorm.weight',
    'model.norm.weight',
  ],
  names: () => (name) => (name === VOCABULARY ? [] : name),
  configure(headers) {
    const shapes = new Shapes(headers, 'text encoder');
    return {
      className: GEMMA_CLASS,
      config: {
        architectures: [GEMMA_CLASS],
        model_type: 'gemma2',
        ...decoderSizes(shapes),
        ...headsOf(shapes, GEMMA_DIMS),
        head_dim: GEMMA_DIMS,
        query_pre_attn_scalar: GEMMA_DIMS,
        sliding_window: 4096,
        attn_logit_softcapping: 50,
        final_logit_softcapping: 30,
        rms_norm_eps: 1e-6,
        rope_theta: 10_000,
        max_position_embeddings: 8192,
      },
    };
  },
};

export const LUMINA2_FILES = fileLayouts({
  parts: {
    transformer: bothLayouts({
      original: [
        'x_embedder.weight',
        'cap_embedder.1.weight',
        'layers.0.adaLN_modulation.1.weight',
        'layers.0.attention.qkv.weight',
      ],
      diffusers: [
        'x_embedder.weight',
        'time_caption_embed.caption_embedder.1.weight',
        'layers.0.norm1.linear.weight',
      ],
      rename: originalNames,
      configure: lumina2Config,
    }),
    vae: AUTOENCODER_LAYOUTS,
    text_encoder: [GEMMA],
  },
  configs: { vae: FLUX_SCALES },
  describe: async () => ({
    className: 'Lumina2Pipeline',
    settings: {},
    scheduler: flowSchedule({ shift: 6, use_dynamic_shifting: false }),
  }),
  repository: 'Alpha-VLLM/Lumina-Image-2.0',
});
