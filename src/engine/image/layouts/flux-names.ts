// Names that Black Forest Labs' programs give to modules of FLUX.1, FLUX.2 and models made from them, and what configurations of all of these
// have. sources: diffusers' loaders/single_file_utils.py, ComfyUI's model_detection.py

import type { NamedRows } from '../../../files/pipeline/file-layout.ts';
import { equalRows } from '../../../files/pipeline/renamed-tensors.ts';
import { renamedModules, type ModuleNames } from './part-layouts.ts';
import type { Shapes } from './shapes.ts';

/** Modules of all models with the same tensors under another name. */
export const SHARED_MODULES: ModuleNames = [
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

/** Networks that embed the time step and the guidance scale. `outer`: the module that holds them. */
export const embedders = (outer: string): ModuleNames => [
  [/^time_in\.in_layer\./, `${outer}.timestep_embedder.linear_1.`],
  [/^time_in\.out_layer\./, `${outer}.timestep_embedder.linear_2.`],
  [/^guidance_in\.in_layer\./, `${outer}.guidance_embedder.linear_1.`],
  [/^guidance_in\.out_layer\./, `${outer}.guidance_embedder.linear_2.`],
];

/** Modules of FLUX.1. */
const MODULES: ModuleNames = [
  ...SHARED_MODULES,
  ...embedders('time_text_embed'),
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

/** Names of the parts of a tensor that has several parts in all models; null: it is another tensor. */
export function fusedRows(name: string, shape: readonly number[]): NamedRows[] | null {
  const [, block, attention, kind] =
    /^double_blocks\.(\d+)\.(img_attn|txt_attn)\.qkv\.(weight|bias)$/.exec(name) ?? [];
  if (block !== undefined) {
    const names = FUSED[attention!]!.map((part) => `transformer_blocks.${block}.attn.${part}.${kind}`);
    return equalRows(names, shape);
  }
  const [, final] = /^final_layer\.adaLN_modulation\.1\.(weight|bias)$/.exec(name) ?? [];
  // Diffusers has the scale before the shift.
  return final === undefined
    ? null
    : equalRows([`norm_out.shift.${final}`, `norm_out.scale.${final}`], shape);
}

/** Names of FLUX.1's original program. */
export function fluxNames(name: string, shape: readonly number[]): string | readonly NamedRows[] {
  const [, single, of] = /^single_blocks\.(\d+)\.linear1\.(weight|bias)$/.exec(name) ?? [];
  if (single !== undefined) return singleRows(`single_transformer_blocks.${single}`, of!, shape);
  return fusedRows(name, shape) ?? renamedModules(MODULES, name);
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

/** Dimensions of a head that FLUX.1 rotates by image, by row and by column, as shares of 16. */
export const AXES = [2, 7, 7] as const;

/** Values that configurations of all models have. `axes`: shares of a head's dimensions, which are rotated by different numbers. */
export function sharedConfig(shapes: Shapes, axes: readonly number[] = AXES) {
  const hidden = shapes.extent('x_embedder.weight', 0);
  const dims = shapes.extent('transformer_blocks.0.attn.norm_q.weight', 0);
  const all = axes.reduce((sum, share) => sum + share, 0);
  return {
    patch_size: 1,
    in_channels: shapes.extent('x_embedder.weight', 1),
    out_channels: shapes.extent('proj_out.weight', 0),
    attention_head_dim: dims,
    num_attention_heads: Math.max(1, Math.floor(hidden / dims)),
    joint_attention_dim: shapes.extent('context_embedder.weight', 1),
    axes_dims_rope: axes.map((share) => (share * dims) / all),
  };
}
