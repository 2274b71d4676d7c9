// The names of Stability's program for tensors of Stable Diffusion 3, written from the side of diffusers.

import type { StoredTensor, StoredTensors } from './tiny-tensors.ts';

const NAMES: [RegExp, string][] = [
  [/^pos_embed\.pos_embed$/, 'pos_embed'],
  [/^pos_embed\.proj\./, 'x_embedder.proj.'],
  [/^time_text_embed\.timestep_embedder\.linear_1\./, 't_embedder.mlp.0.'],
  [/^time_text_embed\.timestep_embedder\.linear_2\./, 't_embedder.mlp.2.'],
  [/^time_text_embed\.text_embedder\.linear_1\./, 'y_embedder.mlp.0.'],
  [/^time_text_embed\.text_embedder\.linear_2\./, 'y_embedder.mlp.2.'],
  [/^proj_out\./, 'final_layer.linear.'],
  [/^norm_out\.linear\./, 'final_layer.adaLN_modulation.1.'],
  [/^transformer_blocks\./, 'joint_blocks.'],
  [/\.norm1\.linear\./, '.x_block.adaLN_modulation.1.'],
  [/\.norm1_context\.linear\./, '.context_block.adaLN_modulation.1.'],
  [/\.(attn2?)\.to_q\./, '.x_block.$1.qkv.'],
  [/\.attn\.add_q_proj\./, '.context_block.attn.qkv.'],
  [/\.(attn2?)\.norm_([qk])\./, '.x_block.$1.ln_$2.'],
  [/\.attn\.norm_added_([qk])\./, '.context_block.attn.ln_$1.'],
  [/\.(attn2?)\.to_out\.0\./, '.x_block.$1.proj.'],
  [/\.attn\.to_add_out\./, '.context_block.attn.proj.'],
  [/\.ff\.net\.0\.proj\./, '.x_block.mlp.fc1.'],
  [/\.ff\.net\.2\./, '.x_block.mlp.fc2.'],
  [/\.ff_context\.net\.0\.proj\./, '.context_block.mlp.fc1.'],
  [/\.ff_context\.net\.2\./, '.context_block.mlp.fc2.'],
];

/** Stable Diffusion 3 as its makers store it: fused projections, and the shift before the scale in the modulations behind which a sequence ends. `last`: the last block. */
export function originalSD3(tensors: StoredTensors, last: number, prefix = ''): StoredTensor[] {
  return [...tensors.values()].flatMap((tensor) => {
    if (/\.(to|add)_[kv](_proj)?\./.test(tensor.name)) return [];
    const name = NAMES.reduce((text, [own, other]) => text.replace(own, other), tensor.name);
    if (/\.(to_q|add_q_proj)\./.test(tensor.name)) {
      const parts = ['_q', '_k', '_v'].map((part) => tensors.get(tensor.name.replace('_q', part))!);
      const [rows, ...behind] = tensor.shape;
      const bytes = Buffer.concat(parts.map((one) => one.bytes));
      return [{ ...tensor, name: prefix + name, shape: [3 * rows!, ...behind], bytes }];
    }
    if (!tensor.name.startsWith('norm_out') && !tensor.name.includes(`.${last}.norm1_context.`))
      return [{ ...tensor, name: prefix + name }];
    const half = tensor.bytes.length / 2;
    const bytes = Buffer.concat([tensor.bytes.subarray(half), tensor.bytes.subarray(0, half)]);
    return [{ ...tensor, name: prefix + name, bytes }];
  });
}
