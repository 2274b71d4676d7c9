// Files of Sana: the transformer with the names of its makers, as conversions of their pickles have them, or of diffusers, and the autoencoder
// within the file or beside it. sources: diffusers' loaders/single_file_utils.py and scripts/convert_sana_to_diffusers.py

import type { FileHeaders, NamedRows, PartConfig } from '../../../../files/pipeline/file-layout.ts';
import { equalRows } from '../../../../files/pipeline/renamed-tensors.ts';
import { bothLayouts, fileLayouts, renamedModules, type ModuleNames } from '../../layouts/part-layouts.ts';
import { Shapes } from '../../layouts/shapes.ts';
import { DC_LAYOUTS } from './autoencoder-dc-layout.ts';

/**
 * Modules with the same tensors under another name. The networks that embed the time step have another place in models with the guidance scale
 * as an input.
 */
const MODULES: ModuleNames = [
  [/^t_embedder\.mlp\.0\./, 'time_embed.emb.timestep_embedder.linear_1.'],
  [/^t_embedder\.mlp\.2\./, 'time_embed.emb.timestep_embedder.linear_2.'],
  [/^x_embedder\./, 'patch_embed.'],
  [/^t_block\.1\./, 'time_embed.linear.'],
  [/^y_embedder\.y_proj\.fc([12])\./, 'caption_projection.linear_$1.'],
  [/^attention_y_norm\./, 'caption_norm.'],
  [/^final_layer\.linear\./, 'proj_out.'],
  [/^final_layer\.scale_shift_table$/, 'scale_shift_table'],
  [/^blocks\./, 'transformer_blocks.'],
  [/\.attn\.proj\./, '.attn1.to_out.0.'],
  [/\.attn\.([qk])_norm\./, '.attn1.norm_$1.'],
  [/\.cross_attn\.q_linear\./, '.attn2.to_q.'],
  [/\.cross_attn\.proj\./, '.attn2.to_out.0.'],
  [/\.cross_attn\.([qk])_norm\./, '.attn2.norm_$1.'],
  [/\.mlp\.(inverted|depth|point)_conv\.conv\./, '.ff.conv_$1.'],
];
/** Positions, which are computed, and the text that training used in place of a caption. */
const UNREAD = /^(pos_embed|y_embedder\.y_embedding)$/;
/** Parts of original names that have underscores. */
export const ORIGINAL_WORDS = [
  ...['x_embedder', 't_embedder', 't_block', 'y_embedder', 'y_proj', 'final_layer', 'cross_attn'],
  ...['q_linear', 'kv_linear', 'inverted_conv', 'depth_conv', 'point_conv'],
];

export function originalNames(name: string, shape: readonly number[]): string | readonly NamedRows[] {
  if (UNREAD.test(name)) return [];
  const [, block, attention, fused, kind] =
    /^blocks\.(\d+)\.(attn|cross_attn)\.(qkv|kv_linear)\.(weight|bias)$/.exec(name) ?? [];
  if (block === undefined) return renamedModules(MODULES, name);
  const own = `transformer_blocks.${block}.${attention === 'attn' ? 'attn1' : 'attn2'}`;
  const parts = fused === 'qkv' ? ['q', 'k', 'v'] : ['k', 'v'];
  return equalRows(
    parts.map((part) => `${own}.to_${part}.${kind}`),
    shape,
  );
}

/** Dimensions of a head of linear attention, and of the attention to the text by the width of published models. */
const HEAD_DIMS = 32;
const CROSS_DIMS = [112, 72];

function sanaConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'transformer');
  const { extent } = shapes;
  const first = 'transformer_blocks.0';
  const hidden = extent('patch_embed.proj.weight', 0);
  const width = extent(`${first}.attn2.to_q.weight`, 0);
  const crossDims = CROSS_DIMS.find((dims) => width % dims === 0) ?? HEAD_DIMS;
  // Half a channel more, so that rounding down gives the width again.
  const ratio = (extent(`${first}.ff.conv_point.weight`, 1) + 0.5) / hidden;
  return {
    className: 'SanaTransformer2DModel',
    config: {
      in_channels: extent('patch_embed.proj.weight', 1),
      out_channels: extent('proj_out.weight', 0),
      num_layers: shapes.count((i) => `transformer_blocks.${i}.scale_shift_table`),
      attention_head_dim: HEAD_DIMS,
      num_attention_heads: Math.max(1, Math.floor(hidden / HEAD_DIMS)),
      cross_attention_head_dim: crossDims,
      num_cross_attention_heads: Math.max(1, Math.floor(width / crossDims)),
      cross_attention_dim: hidden,
      caption_channels: extent('caption_projection.linear_1.weight', 1),
      mlp_ratio: ratio,
      qk_norm: headers.has(`${first}.attn1.norm_q.weight`) ? 'rms_norm_across_heads' : null,
      attention_bias: headers.has(`${first}.attn1.to_q.bias`),
      guidance_embeds: [...headers.keys()].some((name) => /(^cfg_embedder|guidance_embedder)\./.test(name)),
      sample_size: USUAL_SIDE,
    },
  };
}

/** Latents along a side of most models, and the divisor of positions by that number: smaller images have no positions. */
const USUAL_SIDE = 32;
const PLACE_SCALES = new Map([
  [64, 1],
  [128, 2],
]);

/** The trained size, which the table of positions shows even in models that do not read it. */
function sizeOf(headers: FileHeaders): Record<string, unknown> {
  const table = [...headers].find(([name]) => /(^|\.)pos_embed$/.test(name))?.[1];
  const side = Math.sqrt(table?.shape[1] ?? 0);
  if (!Number.isInteger(side) || side === 0) return {};
  return { sample_size: side, interpolation_scale: PLACE_SCALES.get(side) ?? null };
}

export const SANA_FILES = fileLayouts({
  parts: {
    transformer: bothLayouts({
      original: [
        'x_embedder.proj.weight',
        'attention_y_norm.weight',
        'blocks.0.cross_attn.q_linear.weight',
        'blocks.0.mlp.inverted_conv.conv.weight',
      ],
      diffusers: [
        'patch_embed.proj.weight',
        'caption_norm.weight',
        'transformer_blocks.0.attn2.to_q.weight',
        'transformer_blocks.0.ff.conv_inverted.weight',
      ],
      rename: originalNames,
      configure: sanaConfig,
    }),
    vae: DC_LAYOUTS,
  },
  configs: { vae: { scaling_factor: 0.41407 } },
  describe: async (_, { headers }) => ({
    className: 'SanaPipeline',
    settings: {},
    scheduler: {
      className: 'DPMSolverMultistepScheduler',
      config: {
        num_train_timesteps: 1000,
        algorithm_type: 'dpmsolver++',
        solver_order: 2,
        prediction_type: 'flow_prediction',
        use_flow_sigmas: true,
        flow_shift: 3,
        final_sigmas_type: 'zero',
      },
    },
    configs: { transformer: sizeOf(headers) },
  }),
  repository: 'Efficient-Large-Model/Sana_1600M_1024px_diffusers',
});
