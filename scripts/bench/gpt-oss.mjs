// A gpt-oss of half its width, with 247 million weights for a token (four of 32 experts a layer): experts in MXFP4 as they are published,
// the rest in f16.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { byteTokenizer, madeOnce, writeTensors } from './synthetic.mjs';

const SHAPE = {
  hidden: 1440,
  layers: 6,
  heads: 32,
  kvHeads: 4,
  dims: 64,
  ffn: 1440,
  experts: 32,
  chosen: 4,
  vocabulary: 40000,
};
const CONTEXT = 8192;
/** Weights of a block of MXFP4, and the exponent of all scales: 2^-8. */
const BLOCK = 32;
const EXPONENT = 119;

/** @returns {string} the folder, made at the first call */
export function gptOssCheckpoint() {
  return madeOnce('gpt-oss-250m', (folder) => {
    writeTensors(join(folder, 'model.safetensors'), tensorShapes());
    writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(byteTokenizer(SHAPE.vocabulary)));
    writeFileSync(join(folder, 'tokenizer_config.json'), '{}');
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config(), null, 2));
  });
}

function config() {
  return {
    architectures: ['GptOssForCausalLM'],
    model_type: 'gpt_oss',
    hidden_size: SHAPE.hidden,
    intermediate_size: SHAPE.ffn,
    num_hidden_layers: SHAPE.layers,
    num_attention_heads: SHAPE.heads,
    num_key_value_heads: SHAPE.kvHeads,
    head_dim: SHAPE.dims,
    num_local_experts: SHAPE.experts,
    num_experts_per_tok: SHAPE.chosen,
    sliding_window: 128,
    vocab_size: SHAPE.vocabulary,
    max_position_embeddings: CONTEXT,
    rope_theta: 150000,
    rope_scaling: { rope_type: 'yarn', factor: 2, original_max_position_embeddings: 4096, truncate: false },
    torch_dtype: 'float16',
    quantization_config: { quant_method: 'mxfp4' },
  };
}

function tensorShapes() {
  const { hidden, layers, heads, kvHeads, dims, ffn, experts, vocabulary } = SHAPE;
  const linear = (name, rows, k) => [
    [`${name}.weight`, [rows, k]],
    [`${name}.bias`, [rows]],
  ];
  const fused = (name, rows, k) => [
    [`${name}_blocks`, [experts, rows, k / BLOCK, BLOCK / 2], 'random'],
    [`${name}_scales`, [experts, rows, k / BLOCK], EXPONENT],
    [`${name}_bias`, [experts, rows]],
  ];
  const layer = (name) => [
    [`${name}.input_layernorm.weight`, [hidden]],
    ...linear(`${name}.self_attn.q_proj`, heads * dims, hidden),
    ...linear(`${name}.self_attn.k_proj`, kvHeads * dims, hidden),
    ...linear(`${name}.self_attn.v_proj`, kvHeads * dims, hidden),
    ...linear(`${name}.self_attn.o_proj`, hidden, heads * dims),
    [`${name}.self_attn.sinks`, [heads]],
    [`${name}.post_attention_layernorm.weight`, [hidden]],
    ...linear(`${name}.mlp.router`, experts, hidden),
    ...fused(`${name}.mlp.experts.gate_up_proj`, 2 * ffn, hidden),
    ...fused(`${name}.mlp.experts.down_proj`, hidden, ffn),
  ];
  return [
    ['model.embed_tokens.weight', [vocabulary, hidden]],
    ...Array.from({ length: layers }, (_, i) => layer(`model.layers.${i}`)).flat(),
    ['model.norm.weight', [hidden]],
    ['lm_head.weight', [vocabulary, hidden]],
  ];
}
