// Checkpoints made for a test: a golden one with some of its tensors changed, or a Llama of any size with random weights.

import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { safetensorsHead, type TensorSpec } from '../../src/files/tensors/safetensors.ts';
import { byteLevel } from '../files/tokenizer/small-tokenizers.ts';
import { randomInteger } from './random.ts';

const TEMPLATE = `{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>`;

/** Writes a tokenizer with one token per byte and filler tokens, and a chat template. */
export function writeTokenizer(path: string): void {
  const { tokenizerJson, tokenizerConfig } = byteLevel();
  writeFileSync(join(path, 'tokenizer.json'), JSON.stringify(tokenizerJson));
  writeFileSync(
    join(path, 'tokenizer_config.json'),
    JSON.stringify({ ...tokenizerConfig, chat_template: TEMPLATE }),
  );
}

export interface StoredTensor {
  dtype: TensorSpec['dtype'];
  shape: number[];
  bytes: Uint8Array;
}

/** Rewrites a folder's model.safetensors, or another file of it, with its tensors edited. */
export function editTensors(
  path: string,
  edit: (tensors: Map<string, StoredTensor>) => void,
  name = 'model.safetensors',
): void {
  const file = join(path, name);
  const stored = readFileSync(file);
  const length = Number(stored.readBigUInt64LE(0));
  const header = JSON.parse(stored.toString('utf8', 8, 8 + length)) as Record<
    string,
    { dtype: TensorSpec['dtype']; shape: number[]; data_offsets: [number, number] }
  >;
  delete header['__metadata__'];
  const tensors = new Map(
    Object.entries(header).map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [begin, end],
        },
      ]) => [name, { dtype, shape, bytes: stored.subarray(8 + length + begin, 8 + length + end) }],
    ),
  );
  edit(tensors);
  const specs = [...tensors].map(([name, { dtype, shape }]) => ({ name, dtype, shape }));
  const data = [...tensors.values()].map(({ bytes }) => bytes);
  writeFileSync(file, Buffer.concat([safetensorsHead(specs, {}), ...data]));
}

/** The bits of a number in f32, f16 and bf16. */
export interface NumberBits {
  F32: number;
  F16: number;
  BF16: number;
}

export const NAN: NumberBits = { F32: 0x7fc00000, F16: 0x7e00, BF16: 0x7fc0 };
export const MINUS_INFINITY: NumberBits = { F32: 0xff800000, F16: 0xfc00, BF16: 0xff80 };

/** Overwrites values of one tensor of a folder's file, each with the same number. */
export function spoilTensor(
  path: string,
  name: string,
  number: NumberBits,
  places: readonly number[],
  file = 'model.safetensors',
): void {
  const edit = (tensors: Map<string, StoredTensor>): void => {
    const { dtype, shape, bytes } = tensors.get(name)!;
    const copy = Uint8Array.from(bytes);
    const values = dtype === 'F32' ? new Uint32Array(copy.buffer) : new Uint16Array(copy.buffer);
    for (const place of places) values[place] = number[dtype as keyof NumberBits];
    tensors.set(name, { dtype, shape, bytes: copy });
  };
  editTensors(path, edit, file);
}

export interface LlamaSize {
  hidden: number;
  layers: number;
  heads: number;
  kvHeads: number;
  ffn: number;
  vocabulary: number;
  context: number;
  /** Number of experts of each layer, of which a token takes two: the model is a Mixtral; left out: it has none. */
  experts?: number;
}

/** A tied Llama with random F16 weights, or a tied Mixtral. */
export function randomLlama(size: LlamaSize): { path: string; bytes: number; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'svc-llama-'));
  const config = {
    architectures: [size.experts === undefined ? 'LlamaForCausalLM' : 'MixtralForCausalLM'],
    hidden_size: size.hidden,
    intermediate_size: size.ffn,
    num_hidden_layers: size.layers,
    num_attention_heads: size.heads,
    num_key_value_heads: size.kvHeads,
    vocab_size: size.vocabulary,
    max_position_embeddings: size.context,
    rms_norm_eps: 1e-5,
    rope_theta: 10000,
    tie_word_embeddings: true,
    ...(size.experts !== undefined && { num_local_experts: size.experts, num_experts_per_tok: 2 }),
  };
  writeFileSync(join(path, 'config.json'), JSON.stringify(config));
  writeTokenizer(path);
  const bytes = writeRandom(join(path, 'model.safetensors'), shapesOf(size));
  return { path, bytes, remove: () => rmSync(path, { recursive: true }) };
}

function shapesOf({
  hidden,
  layers,
  heads,
  kvHeads,
  ffn,
  vocabulary,
  experts,
}: LlamaSize): [string, number[]][] {
  const dense = {
    'mlp.gate_proj.weight': [ffn, hidden],
    'mlp.up_proj.weight': [ffn, hidden],
    'mlp.down_proj.weight': [hidden, ffn],
  };
  const mixture = {
    'block_sparse_moe.gate.weight': [experts ?? 0, hidden],
    ...Object.fromEntries(
      Array.from({ length: experts ?? 0 }, (_, i) => `block_sparse_moe.experts.${i}`).flatMap((name) => [
        [`${name}.w1.weight`, [ffn, hidden]],
        [`${name}.w2.weight`, [hidden, ffn]],
        [`${name}.w3.weight`, [ffn, hidden]],
      ]),
    ),
  };
  const kv = (hidden / heads) * kvHeads;
  const layer = (i: number): [string, number[]][] =>
    Object.entries({
      'input_layernorm.weight': [hidden],
      'self_attn.q_proj.weight': [hidden, hidden],
      'self_attn.k_proj.weight': [kv, hidden],
      'self_attn.v_proj.weight': [kv, hidden],
      'self_attn.o_proj.weight': [hidden, hidden],
      'post_attention_layernorm.weight': [hidden],
      ...(experts === undefined ? dense : mixture),
    }).map(([name, shape]) => [`model.layers.${i}.${name}`, shape]);
  return [
    ['model.embed_tokens.weight', [vocabulary, hidden]],
    ...Array.from({ length: layers }, (_, i) => layer(i)).flat(),
    ['model.norm.weight', [hidden]],
  ];
}

const BLOCK = 2 ** 19;

function writeRandom(file: string, shapes: [string, number[]][]): number {
  const random = randomInteger(7);
  // Bits with a random sign, an exponent of 2^-7 or 2^-6, and a random mantissa: magnitudes around 0.02. The length is one more
  // than a power of two, so that rows differ.
  const block = Uint16Array.from({ length: BLOCK + 1 }, () => {
    const bits = random(2 ** 32);
    return ((bits & 1) << 15) | ((8 + ((bits >> 1) & 1)) << 10) | ((bits >> 2) & 0x3ff);
  });
  const ones = new Uint16Array(2 ** 16).fill(0x3c00);
  const specs = shapes.map(([name, shape]): TensorSpec => ({ name, dtype: 'F16', shape }));
  const out = openSync(file, 'w');
  let total = 0;
  try {
    writeSync(out, safetensorsHead(specs, {}));
    for (const [i, [name, shape]] of shapes.entries()) {
      // Experts differ.
      const source = shape.length === 1 ? ones : name.includes('.experts.') ? block.subarray(i) : block;
      const count = shape.reduce((product, extent) => product * extent, 1);
      for (let at = 0; at < count; at += source.length)
        total += writeSync(out, source.subarray(0, Math.min(source.length, count - at)));
    }
  } finally {
    closeSync(out);
  }
  return total;
}
