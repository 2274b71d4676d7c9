// Lumina 2 from one file with the names of its makers, as ComfyUI writes it, and from the transformer alone: it draws bit for bit what the
// diffusers layout draws.

import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lumina2 } from '../../../src/models/image/lumina2.ts';
import { readLumina2Config } from '../../../src/models/image/lumina2-config.ts';
import { readText } from '../../../src/models/text/registry.ts';
import { draw, expectSame, prefixed, write } from './drawn-files.ts';
import { ggufOf } from './coded-tensors.ts';
import { originalAutoencoder, originalLumina2 } from './original-names.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { autoencoderTensors, newFolder, scratch, VAE } from './tiny-pipelines.ts';
import { randomTensors, writeComponent, type StoredTensors } from './tiny-tensors.ts';

/** Heads of as many columns as those of published models. */
const TRANSFORMER = {
  _class_name: 'Lumina2Transformer2DModel',
  hidden_size: 192,
  num_layers: 1,
  num_refiner_layers: 1,
  num_attention_heads: 2,
  num_kv_heads: 1,
  multiple_of: 4,
  ffn_dim_multiplier: 0.7,
  cap_feat_dim: 40,
};
const AUTOENCODER = {
  ...VAE,
  latent_channels: 16,
  use_quant_conv: false,
  use_post_quant_conv: false,
  scaling_factor: 0.3611,
  shift_factor: 0.1159,
};
const GEMMA = {
  architectures: ['Gemma2ForCausalLM'],
  model_type: 'gemma2',
  vocab_size: 700,
  hidden_size: 40,
  intermediate_size: 56,
  num_hidden_layers: 2,
  num_attention_heads: 1,
  num_key_value_heads: 1,
  head_dim: 256,
  query_pre_attn_scalar: 256,
  sliding_window: 4096,
  attn_logit_softcapping: 50,
  final_logit_softcapping: 30,
  rms_norm_eps: 1e-6,
  rope_theta: 10_000,
  max_position_embeddings: 8192,
};

it(
  'Lumina 2 draws from a file with everything, and from a transformer with files beside it',
  { timeout: 120_000 },
  async () => {
    const folder = newFolder('lumina2');
    cpSync(tinyPipeline('lumina2'), folder, { recursive: true });
    const replace = (
      component: string,
      config: Record<string, unknown>,
      tensors: StoredTensors,
    ): StoredTensors => {
      rmSync(join(folder, component), { recursive: true });
      writeComponent(join(folder, component), config, tensors);
      return tensors;
    };
    const page = readLumina2Config(TRANSFORMER);
    const transformer = replace(
      'transformer',
      TRANSFORMER,
      randomTensors([(table) => lumina2(page, table)], 41),
    );
    const vae = replace('vae', AUTOENCODER, autoencoderTensors(AUTOENCODER, 42));
    const gemma = readText(GEMMA, 'Gemma2ForCausalLM');
    const text = replace('text_encoder', GEMMA, randomTensors([(table) => gemma.embed!(table)], 43));
    const pipeline = { folder, tensors: {} };
    const request = { prompt: 'a house', guidance: 1 };
    const tokenizer = join(folder, 'tokenizer');

    const makers = originalLumina2(transformer);
    const vaeOfMakers = originalAutoencoder(vae, 'vae.');
    const whole = write(
      'lumina2',
      makers,
      vaeOfMakers,
      prefixed(text, 'text_encoders.gemma2_2b.transformer.'),
    );
    await expect(draw({ model: whole }, request)).rejects.toThrow(
      /holds the transformer and no tokenizer: give it with `componentPaths`.* such as Alpha-VLLM\/Lumina-Image-2.0/,
    );
    await expectSame(pipeline, { model: whole, componentPaths: { tokenizer } }, request);

    const beside = { tokenizer, text_encoder: folder, vae: folder };
    const named = write('lumina2 of diffusers', prefixed(transformer, 'transformer.'));
    await expectSame(pipeline, { model: named, componentPaths: beside }, request);

    const coded = ggufOf(originalLumina2(transformer, ''), 'lumina2');
    const model = join(scratch, 'lumina2 in codes.gguf');
    writeFileSync(model, coded.file);
    const { pixels } = await draw({ model, componentPaths: beside }, request);
    const numbers = write('lumina2 of those codes', coded.numbers);
    const wanted = await draw({ model: numbers, componentPaths: beside }, request);
    const far = pixels[0]!.filter((value, i) => Math.abs(value - wanted.pixels[0]![i]!) > 1);
    expect(far.length).toBeLessThanOrEqual(0.001 * pixels[0]!.length);
  },
);
