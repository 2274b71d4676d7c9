// A tiny Qwen3 with random weights and the tokenizer and chat template of the shipped chat model, whose kernels are those of that model: for tests
// of what holds for any text.

import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { safetensorsHead, type TensorSpec } from '../../src/files/tensors/safetensors.ts';
import { shippedModelPath } from '../../src/index.ts';
import { randomInteger } from '../engine/random.ts';

const HIDDEN = 64;
const HEAD = 64;
const HEADS = 2;
const TOKENIZER_FILES = ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json'];

/** A folder that opens as a model. */
export function noiseModel(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'svc-noise-'));
  for (const file of TOKENIZER_FILES) copyFileSync(join(shippedModelPath(), file), join(path, file));
  const shipped = JSON.parse(readFileSync(join(shippedModelPath(), 'config.json'), 'utf8')) as {
    text_config: Record<string, unknown> & { vocab_size: number };
  };
  const config = {
    ...shipped.text_config,
    hidden_size: HIDDEN,
    intermediate_size: HIDDEN,
    num_hidden_layers: 1,
    num_attention_heads: HEADS,
    num_key_value_heads: 1,
    max_window_layers: 1,
  };
  writeFileSync(join(path, 'config.json'), JSON.stringify(config));
  writeFileSync(join(path, 'model.safetensors'), randomWeights(config.vocab_size));
  return { path, remove: () => rmSync(path, { recursive: true }) };
}

function randomWeights(vocabulary: number): Buffer {
  const layer = {
    'input_layernorm.weight': [HIDDEN],
    'self_attn.q_proj.weight': [HEADS * HEAD, HIDDEN],
    'self_attn.k_proj.weight': [HEAD, HIDDEN],
    'self_attn.v_proj.weight': [HEAD, HIDDEN],
    'self_attn.o_proj.weight': [HIDDEN, HEADS * HEAD],
    'self_attn.q_norm.weight': [HEAD],
    'self_attn.k_norm.weight': [HEAD],
    'post_attention_layernorm.weight': [HIDDEN],
    'mlp.gate_proj.weight': [HIDDEN, HIDDEN],
    'mlp.up_proj.weight': [HIDDEN, HIDDEN],
    'mlp.down_proj.weight': [HIDDEN, HIDDEN],
  };
  const shapes: Record<string, number[]> = {
    'model.embed_tokens.weight': [vocabulary, HIDDEN],
    ...Object.fromEntries(Object.entries(layer).map(([name, shape]) => [`model.layers.0.${name}`, shape])),
    'model.norm.weight': [HIDDEN],
  };
  const specs = Object.entries(shapes).map(([name, shape]): TensorSpec => ({ name, dtype: 'BF16', shape }));
  const random = randomInteger(11);
  const tensors = specs.map(({ shape }) => {
    const values = new Uint16Array(shape.reduce((product, extent) => product * extent, 1));
    // Norms are one. Others have a random sign and magnitudes from 1/16 to 1/4.
    for (let i = 0; i < values.length; i++)
      values[i] = shape.length === 1 ? 0x3f80 : (random(2) << 15) | (0x3d80 + random(0x100));
    return values;
  });
  const bytes = tensors.map(({ buffer }) => new Uint8Array(buffer));
  return Buffer.concat([safetensorsHead(specs, {}), ...bytes]);
}
