// The synthetic Llama as GGUF files: random blocks of valid scales, in the mixes of formats that are published most. Speed does not depend
// on the values.

import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { SHAPE, tensorShapes } from './checkpoint.mjs';
import { byteTokenizer, madeOnce, randomBytes } from './synthetic.mjs';

/** Number of a type in a file, weights and bytes of a block, and the bytes at which f16 scales of it stand. */
const TYPES = {
  F32: { id: 0, values: 1, bytes: 4, scales: [] },
  Q4_0: { id: 2, values: 32, bytes: 18, scales: [0] },
  Q8_0: { id: 8, values: 32, bytes: 34, scales: [0] },
  Q4_K: { id: 12, values: 256, bytes: 144, scales: [0, 2] },
  Q6_K: { id: 14, values: 256, bytes: 210, scales: [208] },
};

/** Types of matrices by their names in the file and their layer. */
export const MIXES = {
  Q4_0: () => 'Q4_0',
  Q8_0: () => 'Q8_0',
  Q4_K_M: (name, layer, layers) => (isFine(name, layer, layers) ? 'Q6_K' : 'Q4_K'),
};

/** Matrices of Q6_K in Q4_K_M: the head, and values and ffn_down of the first and last eighth of the layers and every third between. */
function isFine(name, layer, layers) {
  const eighth = Math.floor(layers / 8);
  const isChosen = layer < eighth || layer >= layers - eighth || (layer - eighth) % 3 === 2;
  return name === 'output.weight' || (isChosen && /attn_v|ffn_down/.test(name));
}

/** @returns {string} the file of a mix, made at the first call; `of` and `shape`: name and shape of another Llama */
export function ggufFile(mix, of = 'llama-250m', shape = SHAPE) {
  const name = `${of}-${mix}.gguf`;
  const folder = madeOnce(`${of}-${mix}`, (made) => write(join(made, name), MIXES[mix], shape));
  return join(folder, name);
}

const NAMES = [
  ['model.embed_tokens', 'token_embd'],
  ['model.norm', 'output_norm'],
  ['lm_head', 'output'],
  ['model.layers', 'blk'],
  ['input_layernorm', 'attn_norm'],
  ['post_attention_layernorm', 'ffn_norm'],
  ['self_attn.q_proj', 'attn_q'],
  ['self_attn.k_proj', 'attn_k'],
  ['self_attn.v_proj', 'attn_v'],
  ['self_attn.o_proj', 'attn_output'],
  ['mlp.gate_proj', 'ffn_gate'],
  ['mlp.up_proj', 'ffn_up'],
  ['mlp.down_proj', 'ffn_down'],
];
const ALIGNMENT = 32;
/** Blocks of a tensor that are written: the first ones of sparse files, whose other blocks are zeros. */
const MOST_BLOCKS = process.env.SVC_SPARSE_CHECKPOINTS ? 64 : Infinity;

function write(path, typeOf, model) {
  const tensors = tensorShapes(model).map(([there, shape]) => {
    const name = NAMES.reduce((text, [from, to]) => text.replace(from, to), there);
    const layer = Number(/^blk\.(\d+)/.exec(name)?.[1]);
    const type = TYPES[shape.length === 1 ? 'F32' : typeOf(name, layer, model.layers)];
    const count = shape.reduce((product, extent) => product * extent, 1);
    return { name, shape, type, bytes: (count / type.values) * type.bytes };
  });
  const file = openSync(path, 'w');
  const head = padded(header(tensors, model));
  writeSync(file, head);
  let at = head.length;
  for (const tensor of tensors) {
    const data = contents(tensor);
    writeSync(file, data, 0, data.length, at);
    at += tensor.bytes + (-tensor.bytes & (ALIGNMENT - 1));
  }
  ftruncateSync(file, at);
  closeSync(file);
}

function padded(bytes) {
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & (ALIGNMENT - 1))]);
}

/** Ones, or random blocks whose scales are ±(1 to 2)/1024. */
function contents({ type, bytes }) {
  if (type === TYPES.F32) return Buffer.from(new Float32Array(bytes / 4).fill(1).buffer);
  const data = randomBytes(Math.min(bytes / type.bytes, MOST_BLOCKS) * type.bytes);
  for (let at = 0; at < data.length; at += type.bytes) {
    for (const scale of type.scales) data[at + scale + 1] = 0x14 | (data[at + scale + 1] & 0x83);
  }
  return data;
}

function header(tensors, { hidden, layers, heads, kvHeads, dims, ffn, vocabulary }) {
  const tokens = Object.keys(byteTokenizer(vocabulary).model.vocab);
  const metadata = [
    text('general.architecture', 'llama'),
    number('llama.block_count', layers),
    number('llama.context_length', 8192),
    number('llama.embedding_length', hidden),
    number('llama.feed_forward_length', ffn),
    number('llama.attention.head_count', heads),
    number('llama.attention.head_count_kv', kvHeads),
    number('llama.rope.dimension_count', dims),
    number('llama.vocab_size', vocabulary),
    float('llama.attention.layer_norm_rms_epsilon', 1e-5),
    float('llama.rope.freq_base', 10000),
    text('tokenizer.ggml.model', 'gpt2'),
    text('tokenizer.ggml.pre', 'gpt-2'),
    list('tokenizer.ggml.tokens', 8, tokens.map(string)),
    list(
      'tokenizer.ggml.token_type',
      5,
      tokens.map(() => u32(1)),
    ),
    list('tokenizer.ggml.merges', 8, []),
  ];
  let offset = 0;
  const infos = tensors.map(({ name, shape, type, bytes }) => {
    const info = [string(name), u32(shape.length), ...shape.toReversed().map(u64), u32(type.id), u64(offset)];
    offset += bytes + (-bytes & (ALIGNMENT - 1));
    return Buffer.concat(info);
  });
  return Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(tensors.length),
    u64(metadata.length),
    ...metadata,
    ...infos,
  ]);
}

function u32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function string(value) {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

/** Entries of the metadata: key, type, value. */
const text = (key, value) => Buffer.concat([string(key), u32(8), string(value)]);
const number = (key, value) => Buffer.concat([string(key), u32(4), u32(value)]);
const list = (key, type, items) =>
  Buffer.concat([string(key), u32(9), u32(type), u64(items.length), ...items]);

function float(key, value) {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([string(key), u32(6), bytes]);
}
