// Text encoders in GGUF files: Mistral as llama.cpp converts it, CLIP as stable-diffusion.cpp does. Each draws what the numbers draw
// that its codes stand for.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Written } from '../../files/gguf/write-gguf.ts';
import { ggufOf, named } from './coded-tensors.ts';
import { expectNear } from './drawn-files.ts';
import { tinyFlux2 } from './tiny-flux2.ts';
import { scratch, tinySD1, type Json } from './tiny-pipelines.ts';
import { readTensors, writeComponent, type StoredTensor } from './tiny-tensors.ts';

const REQUEST = { prompt: 'a house', guidance: 2, steps: 1 };

const NAMES: readonly (readonly [string, string])[] = [
  ['model.embed_tokens', 'token_embd'],
  ['model.norm', 'output_norm'],
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

/** Rows of heads in the order in which `from` has them: pair by pair as Llama's original program stores them, or half by half. */
function reordered(tensor: StoredTensor, dims: number, to: 'pairs' | 'halves'): StoredTensor {
  const [rows = 0] = tensor.shape;
  const size = tensor.bytes.length / rows;
  const half = dims / 2;
  const bytes = new Uint8Array(tensor.bytes.length);
  for (let row = 0; row < rows; row++) {
    const [head, at] = [Math.floor(row / dims), row % dims];
    const paired = head * dims + 2 * (at % half) + Math.floor(at / half);
    const [source, target] = to === 'pairs' ? [row, paired] : [paired, row];
    bytes.set(tensor.bytes.subarray(source * size, (source + 1) * size), target * size);
  }
  return { ...tensor, bytes };
}

/** Writes the language model of a pipeline as GGUF and its numbers in the place of the original; returns the file. */
async function codedMistral(folder: string): Promise<string> {
  const architecture = 'llama';
  const own = join(folder, 'text_encoder');
  const config = JSON.parse(readFileSync(join(own, 'config.json'), 'utf8')) as Record<string, number>;
  const tensors = [...(await readTensors(join(own, 'model.safetensors'))).values()];
  const dims = config['head_dim']!;
  const isPaired = ({ name }: StoredTensor): boolean => /\.(q|k)_proj\./.test(name);
  const stored = tensors.map((one) => ({
    ...(isPaired(one) ? reordered(one, dims, 'pairs') : one),
    name: NAMES.reduce((text, [there, here]) => text.replace(there, here), one.name),
  }));
  const keys: Record<string, Written> = {
    block_count: config['num_hidden_layers']!,
    context_length: config['max_position_embeddings']!,
    embedding_length: config['hidden_size']!,
    feed_forward_length: config['intermediate_size']!,
    vocab_size: config['vocab_size']!,
    'attention.head_count': config['num_attention_heads']!,
    'attention.head_count_kv': config['num_key_value_heads']!,
    'attention.key_length': dims,
    'attention.value_length': dims,
    'attention.layer_norm_rms_epsilon': { type: 'f32', value: config['rms_norm_eps']! },
    'rope.freq_base': { type: 'f32', value: config['rope_theta']! },
    'rope.dimension_count': dims,
  };
  const metadata = Object.fromEntries(
    Object.entries(keys).map(([key, value]) => [`${architecture}.${key}`, value]),
  );
  const { file, numbers } = ggufOf(stored, architecture, metadata);
  const path = join(scratch, `text-${architecture}.gguf`);
  writeFileSync(path, file);
  const restored = numbers.map((one, i) => ({
    ...(isPaired(tensors[i]!) ? reordered(one, dims, 'halves') : one),
    name: tensors[i]!.name,
  }));
  expect(restored.some(({ dtype }) => dtype === 'F32')).toBe(true);
  writeComponent(own, config, named(restored));
  return path;
}

it('FLUX.2 dev reads Mistral from a GGUF file, whose queries and keys are stored pair by pair', async () => {
  const { folder } = tinyFlux2();
  const text = await codedMistral(folder);
  const componentPaths = { text_encoder: text, tokenizer: folder };
  await expectNear({ folder }, { model: folder, componentPaths }, { ...REQUEST, maxSequenceLength: 240 });
});

it('Stable Diffusion reads CLIP from a GGUF file of stable-diffusion.cpp', async () => {
  const { folder, tensors } = tinySD1();
  const { file, numbers } = ggufOf([...tensors['text_encoder']!.values()], null);
  const path = join(scratch, 'clip_l.gguf');
  writeFileSync(path, file);
  const own = join(folder, 'text_encoder');
  const config = JSON.parse(readFileSync(join(own, 'config.json'), 'utf8')) as Json;
  writeComponent(own, config, named(numbers));
  await expectNear({ folder }, { model: folder, componentPaths: { text_encoder: path } }, REQUEST);
});
