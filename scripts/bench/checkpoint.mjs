// A Llama of 250 million random weights in f16, in the ordinary Hugging Face layout, in a cache folder: speed does not depend on
// what a model says. The same bytes every time.

import {
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  writeFileSync,
  openSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const SHAPE = {
  hidden: 1024,
  layers: 16,
  heads: 16,
  kvHeads: 4,
  dims: 64,
  ffn: 2816,
  vocabulary: 32000,
};
const CONTEXT = 8192;

/** @returns {string} the folder, made at the first call */
export function syntheticCheckpoint() {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'svc-engine', 'bench', 'llama-250m');
  if (existsSync(join(folder, 'config.json'))) return folder;
  const making = `${folder}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  writeTensors(join(making, 'model.safetensors'));
  writeFileSync(join(making, 'tokenizer.json'), JSON.stringify(tokenizer()));
  writeFileSync(join(making, 'tokenizer_config.json'), '{}');
  writeFileSync(join(making, 'config.json'), JSON.stringify(config(), null, 2));
  rmSync(folder, { recursive: true, force: true });
  renameSync(making, folder);
  return folder;
}

function config() {
  return {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    hidden_size: SHAPE.hidden,
    intermediate_size: SHAPE.ffn,
    num_hidden_layers: SHAPE.layers,
    num_attention_heads: SHAPE.heads,
    num_key_value_heads: SHAPE.kvHeads,
    head_dim: SHAPE.dims,
    vocab_size: SHAPE.vocabulary,
    max_position_embeddings: CONTEXT,
    rope_theta: 10000,
    rms_norm_eps: 1e-5,
    hidden_act: 'silu',
    tie_word_embeddings: false,
    torch_dtype: 'float16',
  };
}

function tensorShapes() {
  const { hidden, layers, heads, kvHeads, dims, ffn, vocabulary } = SHAPE;
  const layer = (i) => [
    [`model.layers.${i}.input_layernorm.weight`, [hidden]],
    [`model.layers.${i}.self_attn.q_proj.weight`, [heads * dims, hidden]],
    [`model.layers.${i}.self_attn.k_proj.weight`, [kvHeads * dims, hidden]],
    [`model.layers.${i}.self_attn.v_proj.weight`, [kvHeads * dims, hidden]],
    [`model.layers.${i}.self_attn.o_proj.weight`, [hidden, heads * dims]],
    [`model.layers.${i}.post_attention_layernorm.weight`, [hidden]],
    [`model.layers.${i}.mlp.gate_proj.weight`, [ffn, hidden]],
    [`model.layers.${i}.mlp.up_proj.weight`, [ffn, hidden]],
    [`model.layers.${i}.mlp.down_proj.weight`, [hidden, ffn]],
  ];
  return [
    ['model.embed_tokens.weight', [vocabulary, hidden]],
    ...Array.from({ length: layers }, (_, i) => layer(i)).flat(),
    ['model.norm.weight', [hidden]],
    ['lm_head.weight', [vocabulary, hidden]],
  ];
}

/** Matrices of ±(1 to 2)/64 with random mantissas, norms of one. */
function writeTensors(path) {
  const header = {};
  let end = 0;
  const tensors = tensorShapes().map(([name, shape]) => {
    const count = shape.reduce((product, extent) => product * extent, 1);
    header[name] = { dtype: 'F16', shape, data_offsets: [end, (end += 2 * count)] };
    return { count, isNorm: shape.length === 1 };
  });
  const text = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(text.length));
  const file = openSync(path, 'w');
  writeSync(file, Buffer.concat([prefix, text]));
  let state = 1;
  for (const { count, isNorm } of tensors) {
    const halves = new Uint16Array(count).fill(0x3c00);
    if (!isNorm) {
      for (let i = 0; i < count; i++) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        halves[i] = 0x2400 | ((state >>> 16) & 0x83ff);
      }
    }
    writeSync(file, halves);
  }
  closeSync(file);
}

/** Bytes, then words that nothing merges into: ids are what the benchmark sends and counts. */
function tokenizer() {
  const printable = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  let next = 256;
  const bytes = Array.from({ length: 256 }, (_, byte) =>
    String.fromCodePoint(printable(byte) ? byte : next++),
  );
  const words = Array.from({ length: SHAPE.vocabulary - 256 }, (_, i) => `w${i}`);
  return {
    version: '1.0',
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      vocab: Object.fromEntries([...bytes, ...words].map((token, id) => [token, id])),
      merges: [],
    },
  };
}
