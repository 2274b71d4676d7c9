// The names of Black Forest Labs' program for tensors of FLUX.1 and FLUX.2, which Chroma's makers kept, and of llama.cpp for those of T5, written from the side of diffusers and
// transformers.

import type { StoredTensor, StoredTensors } from './tiny-tensors.ts';

const FLUX: [RegExp, string][] = [
  [/^x_embedder\./, 'img_in.'],
  [/^context_embedder\./, 'txt_in.'],
  [/^time_text_embed\.timestep_embedder\.linear_(\d)\./, 'time_in.$1.'],
  [/^time_text_embed\.guidance_embedder\.linear_(\d)\./, 'guidance_in.$1.'],
  [/^time_text_embed\.text_embedder\.linear_(\d)\./, 'vector_in.$1.'],
  [/^time_guidance_embed\.timestep_embedder\.linear_(\d)\./, 'time_in.$1.'],
  [/^time_guidance_embed\.guidance_embedder\.linear_(\d)\./, 'guidance_in.$1.'],
  [/^((?:double|single)_stream_modulation\w*)\.linear\./, '$1.lin.'],
  [/^(distilled_guidance_layer\.layers\.\d+)\.linear_1\./, '$1.in_layer.'],
  [/^(distilled_guidance_layer\.layers\.\d+)\.linear_2\./, '$1.out_layer.'],
  [/^(distilled_guidance_layer\.norms\.\d+)\.weight/, '$1.scale'],
  [/^single_transformer_blocks\.(\d+)\.attn\.to_qkv_mlp_proj\./, 'single_blocks.$1.linear1.'],
  [/^single_transformer_blocks\.(\d+)\.attn\.to_out\./, 'single_blocks.$1.linear2.'],
  [/\.ff\.linear_in\./, '.img_mlp.0.'],
  [/\.ff\.linear_out\./, '.img_mlp.2.'],
  [/\.ff_context\.linear_in\./, '.txt_mlp.0.'],
  [/\.ff_context\.linear_out\./, '.txt_mlp.2.'],
  [/_in\.1\./, '_in.in_layer.'],
  [/_in\.2\./, '_in.out_layer.'],
  [/^proj_out\./, 'final_layer.linear.'],
  [/^norm_out\.linear\./, 'final_layer.adaLN_modulation.1.'],
  [/^single_transformer_blocks\.(\d+)\.proj_out\./, 'single_blocks.$1.linear2.'],
  [/^single_transformer_blocks\.(\d+)\.norm\.linear\./, 'single_blocks.$1.modulation.lin.'],
  [/^single_transformer_blocks\.(\d+)\.attn\.norm_q\.weight/, 'single_blocks.$1.norm.query_norm.scale'],
  [/^single_transformer_blocks\.(\d+)\.attn\.norm_k\.weight/, 'single_blocks.$1.norm.key_norm.scale'],
  [/^transformer_blocks\./, 'double_blocks.'],
  [/\.norm1\.linear\./, '.img_mod.lin.'],
  [/\.norm1_context\.linear\./, '.txt_mod.lin.'],
  [/\.attn\.norm_q\.weight/, '.img_attn.norm.query_norm.scale'],
  [/\.attn\.norm_k\.weight/, '.img_attn.norm.key_norm.scale'],
  [/\.attn\.norm_added_q\.weight/, '.txt_attn.norm.query_norm.scale'],
  [/\.attn\.norm_added_k\.weight/, '.txt_attn.norm.key_norm.scale'],
  [/\.attn\.to_out\.0\./, '.img_attn.proj.'],
  [/\.attn\.to_add_out\./, '.txt_attn.proj.'],
  [/\.ff\.net\.0\.proj\./, '.img_mlp.0.'],
  [/\.ff\.net\.2\./, '.img_mlp.2.'],
  [/\.ff_context\.net\.0\.proj\./, '.txt_mlp.0.'],
  [/\.ff_context\.net\.2\./, '.txt_mlp.2.'],
];

/** FLUX.1, FLUX.2 and Chroma as their makers store them: fused projections, and the shift before the scale in the last modulation. */
export function originalFlux(tensors: StoredTensors, prefix = 'model.diffusion_model.'): StoredTensor[] {
  const fused: [RegExp, string, string[]][] = [
    [/^transformer_blocks\.(\d+)\.attn\.to_q\./, 'double_blocks.$1.img_attn.qkv.', ['to_q', 'to_k', 'to_v']],
    [
      /^transformer_blocks\.(\d+)\.attn\.add_q_proj\./,
      'double_blocks.$1.txt_attn.qkv.',
      ['add_q_proj', 'add_k_proj', 'add_v_proj'],
    ],
    [
      /^single_transformer_blocks\.(\d+)\.attn\.to_q\./,
      'single_blocks.$1.linear1.',
      ['attn.to_q', 'attn.to_k', 'attn.to_v', 'proj_mlp'],
    ],
  ];
  return [...tensors.values()].flatMap((tensor): StoredTensor[] => {
    if (/\.(to_[kv]|add_[kv]_proj|proj_mlp)\./.test(tensor.name)) return [];
    const together = fused.find(([pattern]) => pattern.test(tensor.name));
    if (together) {
      const [pattern, name, parts] = together;
      const joined = parts.map((part) => tensors.get(tensor.name.replace(parts[0]!, part))!);
      const rows = joined.reduce((sum, { shape }) => sum + shape[0]!, 0);
      const bytes = Buffer.concat(joined.map((one) => one.bytes));
      return [
        {
          ...tensor,
          name: prefix + tensor.name.replace(pattern, name),
          shape: [rows, ...tensor.shape.slice(1)],
          bytes,
        },
      ];
    }
    const name =
      prefix + FLUX.reduce((renamed, [pattern, other]) => renamed.replace(pattern, other), tensor.name);
    if (!tensor.name.startsWith('norm_out.')) return [{ ...tensor, name }];
    const half = tensor.bytes.length / 2;
    return [
      {
        ...tensor,
        name,
        bytes: Buffer.concat([tensor.bytes.subarray(half), tensor.bytes.subarray(0, half)]),
      },
    ];
  });
}

const T5: [string, string][] = [
  ['encoder.block.', 'enc.blk.'],
  ['layer.0.layer_norm', 'attn_norm'],
  ['layer.0.SelfAttention.relative_attention_bias', 'attn_rel_b'],
  ['layer.0.SelfAttention.', 'attn_'],
  ['layer.1.layer_norm', 'ffn_norm'],
  ['layer.1.DenseReluDense.wi_0', 'ffn_gate'],
  ['layer.1.DenseReluDense.wi_1', 'ffn_up'],
  ['layer.1.DenseReluDense.wo', 'ffn_down'],
  ['shared.', 'token_embd.'],
  ['encoder.embed_tokens.', 'token_embd.'],
  ['encoder.final_layer_norm', 'enc.output_norm'],
];

/** T5's encoder as llama.cpp names it. */
export function ggufT5(tensors: StoredTensors): StoredTensor[] {
  return [...tensors.values()].map((tensor) => ({
    ...tensor,
    name: T5.reduce((name, [own, other]) => name.replace(own, other), tensor.name),
  }));
}
