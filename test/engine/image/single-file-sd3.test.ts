// Stable Diffusion 3 from one file with the names of its makers: it draws bit for bit what the diffusers layout draws.

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tinyPipeline } from './pipeline-golden.ts';
import { draw, expectSame, prefixed, write } from './drawn-files.ts';
import { newFolder } from './tiny-pipelines.ts';
import { readTensors, type StoredTensor, type StoredTensors } from './tiny-tensors.ts';

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

/** Fused projections, and the shift before the scale in the modulations behind which a sequence ends. */
function original(tensors: StoredTensors, last: number): StoredTensor[] {
  return [...tensors.values()].flatMap((tensor) => {
    if (/\.(to|add)_[kv](_proj)?\./.test(tensor.name)) return [];
    const name = NAMES.reduce((text, [own, other]) => text.replace(own, other), tensor.name);
    if (/\.(to_q|add_q_proj)\./.test(tensor.name)) {
      const parts = ['_q', '_k', '_v'].map((part) => tensors.get(tensor.name.replace('_q', part))!);
      const [rows, ...behind] = tensor.shape;
      const bytes = Buffer.concat(parts.map((one) => one.bytes));
      return [{ ...tensor, name, shape: [3 * rows!, ...behind], bytes }];
    }
    if (!tensor.name.startsWith('norm_out') && !tensor.name.includes(`.${last}.norm1_context.`))
      return [{ ...tensor, name }];
    const half = tensor.bytes.length / 2;
    const bytes = Buffer.concat([tensor.bytes.subarray(half), tensor.bytes.subarray(0, half)]);
    return [{ ...tensor, name, bytes }];
  });
}

it('draws from a transformer of its makers with CLIP and the autoencoder beside it, and without T5', async () => {
  const folder = newFolder('sd3');
  cpSync(tinyPipeline('sd3-dual'), folder, { recursive: true });
  const places = {
    tokenizer: 'sd1',
    tokenizer_2: 'sd2',
    text_encoder: 'sd3',
    text_encoder_2: 'sd3',
    vae: 'z-image',
    scheduler: 'sd3',
  };
  for (const [component, source] of Object.entries(places)) {
    const from = component === 'tokenizer_2' ? 'tokenizer' : component;
    cpSync(join(tinyPipeline(source), from), join(folder, component), { recursive: true });
  }
  const { scheduler: _, ...given } = places;
  const componentPaths = Object.fromEntries(
    Object.keys(given).map((component) => [component, join(folder, component)]),
  );
  const file = join(folder, 'transformer', 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...config, sample_size: 128 })); // of all published models; files do not show it
  const weights = join(folder, 'transformer', 'diffusion_pytorch_model.safetensors');
  const tensors = await readTensors(weights);
  const request = { prompt: 'a house', maxSequenceLength: 20 };
  const model = write('sd3 original', original(tensors, 2));
  await expect(draw({ model }, request)).rejects.toThrow(/holds the transformer and no .*text_encoder/);
  await expectSame({ folder, tensors: {} }, { model, componentPaths }, request);
  const named = write('sd3 of diffusers', prefixed(tensors, 'transformer.'));
  await expectSame({ folder, tensors: {} }, { model: named, componentPaths }, request);
});
