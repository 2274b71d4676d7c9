// Writes the GGUF file of a Qwen3 checkpoint in a folder, as a converter would: tensors as they are stored, tokens and merges, template;
// of a class that reads images the language model alone.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSafetensors } from '../../../src/files/tensors/safetensors.ts';
import { tensorType, type GgufTypeName } from '../../../src/files/tensors/tensor-types.ts';
import { openDiskSource } from '../../../src/files/disk/source-disk.ts';
import { writeGguf, type Written, type WrittenTensor } from './write-gguf.ts';

const TOWERS = /^model\.(?:vision_tower|multi_modal_projector)\./;
const NAMES: readonly [string, string][] = [
  ['model.language_model.', 'model.'],
  ['model.embed_tokens', 'token_embd'],
  ['model.norm', 'output_norm'],
  ['model.layers', 'blk'],
  ['input_layernorm', 'attn_norm'],
  ['post_attention_layernorm', 'ffn_norm'],
  ['self_attn.q_proj', 'attn_q'],
  ['self_attn.k_proj', 'attn_k'],
  ['self_attn.v_proj', 'attn_v'],
  ['self_attn.o_proj', 'attn_output'],
  ['self_attn.q_norm', 'attn_q_norm'],
  ['self_attn.k_norm', 'attn_k_norm'],
  ['mlp.gate_proj', 'ffn_gate'],
  ['mlp.up_proj', 'ffn_up'],
  ['mlp.down_proj', 'ffn_down'],
];

const json = (folder: string, name: string) =>
  JSON.parse(readFileSync(join(folder, name), 'utf8')) as Record<string, unknown>;

/** Number of a type in a file. */
export function typeId(name: GgufTypeName): number {
  return Array.from({ length: 64 }, (_, id) => id).find((id) => tensorType(id)?.name === name)!;
}

/** `more`: metadata laid over that of the checkpoint. `replaced`: what is written in place of a tensor. */
export async function ggufOfFolder(
  folder: string,
  more: Record<string, Written> = {},
  replaced: (tensor: WrittenTensor) => WrittenTensor = (tensor) => tensor,
): Promise<Uint8Array> {
  const tensors = (await tensorsOf(folder)).map(replaced);
  return writeGguf({ metadata: { ...metadataOf(folder), ...more }, tensors });
}

async function tensorsOf(folder: string): Promise<WrittenTensor[]> {
  const source = await openDiskSource(join(folder, 'model.safetensors'));
  try {
    const { tensors } = await readSafetensors(source);
    return await Promise.all(
      [...tensors.values()]
        .filter(({ name }) => !TOWERS.test(name))
        .map(async ({ name, dtype, shape, offset, bytes }) => ({
          name: NAMES.reduce((text, [there, here]) => text.replace(there, here), name),
          type: typeId(dtype as GgufTypeName),
          shape,
          bytes: await source.read(offset, bytes),
        })),
    );
  } finally {
    await source.close();
  }
}

function metadataOf(folder: string): Record<string, Written> {
  const whole = json(folder, 'config.json');
  const config = (whole['text_config'] ?? whole) as Record<string, number>;
  const { model, added_tokens: added } = json(folder, 'tokenizer.json') as {
    model: { vocab: Record<string, number>; merges: (string | [string, string])[] };
    added_tokens: { id: number; content: string; special: boolean }[];
  };
  const tokens: string[] = [];
  const kinds: number[] = [];
  for (const [token, id] of Object.entries(model.vocab)) [tokens[id], kinds[id]] = [token, 1];
  for (const { id, content, special } of added) [tokens[id], kinds[id]] = [content, special ? 3 : 4];
  for (let id = 0; id < config['vocab_size']!; id++) {
    tokens[id] ??= `[PAD${id}]`;
    kinds[id] ??= 5;
  }
  const tokenizer = json(folder, 'tokenizer_config.json');
  return {
    'general.architecture': 'qwen3',
    'general.type': 'model',
    'qwen3.block_count': config['num_hidden_layers']!,
    'qwen3.context_length': config['max_position_embeddings']!,
    'qwen3.embedding_length': config['hidden_size']!,
    'qwen3.feed_forward_length': config['intermediate_size']!,
    'qwen3.attention.head_count': config['num_attention_heads']!,
    'qwen3.attention.head_count_kv': config['num_key_value_heads']!,
    'qwen3.attention.key_length': config['head_dim']!,
    'qwen3.attention.value_length': config['head_dim']!,
    'qwen3.attention.layer_norm_rms_epsilon': { type: 'f32', value: config['rms_norm_eps']! },
    'qwen3.rope.freq_base': { type: 'f32', value: config['rope_theta']! },
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': 'qwen2',
    'tokenizer.ggml.tokens': { items: 'string', values: tokens },
    'tokenizer.ggml.token_type': { items: 'i32', values: kinds },
    'tokenizer.ggml.merges': {
      items: 'string',
      values: model.merges.map((merge) => (typeof merge === 'string' ? merge : merge.join(' '))),
    },
    'tokenizer.ggml.bos_token_id': config['bos_token_id']!,
    'tokenizer.ggml.eos_token_id': config['eos_token_id']!,
    'tokenizer.chat_template': String(tokenizer['chat_template']),
  };
}
