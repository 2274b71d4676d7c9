// GGUF files of GPT-NeoX and Pythia. Queries, keys and values of all heads follow each other there, those of a head in its checkpoints.

import type { GgufClass } from '../../../files/gguf/model.ts';
import { decoderConfig } from '../blocks/gguf-config.ts';
import { decoderParts } from '../blocks/gguf-tensors.ts';

const OUTER = {
  'token_embd.weight': 'gpt_neox.embed_in.weight',
  'output_norm.weight': 'gpt_neox.final_layer_norm.weight',
  'output_norm.bias': 'gpt_neox.final_layer_norm.bias',
  'output.weight': 'embed_out.weight',
};
const NAMES = {
  attn_qkv: 'attention.query_key_value',
  attn_output: 'attention.dense',
  ffn_up: 'mlp.dense_h_to_4h',
  ffn_down: 'mlp.dense_4h_to_h',
};
const PARALLEL = 'use_parallel_residual';

export const NEOX_GGUF: readonly GgufClass[] = [
  {
    name: 'gptneox',
    classNames: ['GPTNeoXForCausalLM'],
    keys: {
      rotary_emb_base: 'gptneox.rope.freq_base',
      rotary_pct: 'gptneox.rope.dimension_count',
      [PARALLEL]: `gptneox.${PARALLEL}`,
    },
    async read(model) {
      const config = await decoderConfig(model, { reads: [PARALLEL], layerNorm: true });
      return {
        className: 'GPTNeoXForCausalLM',
        config: {
          ...config,
          layer_norm_eps: config['rms_norm_eps'],
          rotary_emb_base: config['rope_theta'],
          rotary_pct: config['partial_rotary_factor'] ?? 1,
          attention_bias: model.tensors.has('blk.0.attn_qkv.bias'),
          [PARALLEL]: model.keys.flag(`gptneox.${PARALLEL}`, true),
        },
      };
    },
    parts: (tensor, { num_attention_heads: heads }) =>
      decoderParts(tensor, {
        prefix: 'gpt_neox.',
        outer: OUTER,
        names: NAMES,
      })?.map((part) =>
        tensor.name.includes('.attn_qkv.')
          ? { ...part, groupedHeads: { heads: heads as number, kvHeads: heads as number } }
          : part,
      ) ?? null,
  },
];
