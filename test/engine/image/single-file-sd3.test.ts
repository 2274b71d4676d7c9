// Stable Diffusion 3 from one file with the names of its makers: it draws bit for bit what the diffusers layout draws.

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tinyPipeline } from './pipeline-golden.ts';
import { draw, expectNear, expectSame, prefixed, write } from './drawn-files.ts';
import { float8, named } from './coded-tensors.ts';
import { originalSD3 } from './original-sd3.ts';
import { originalAutoencoder } from './original-names.ts';
import { tinySD3 } from './tiny-sd3.ts';
import { newFolder } from './tiny-pipelines.ts';
import { readTensors, type StoredTensor } from './tiny-tensors.ts';

it('Stable Diffusion 3 draws from a transformer of its makers with CLIP beside it, and without T5', async () => {
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
  const model = write('sd3 original', originalSD3(tensors, 2));
  await expect(draw({ model }, request)).rejects.toThrow(/holds the transformer and no .*text_encoder/);
  await expectSame({ folder, tensors: {} }, { model, componentPaths }, request);
  const named = write('sd3 of diffusers', prefixed(tensors, 'transformer.'));
  await expectSame({ folder, tensors: {} }, { model: named, componentPaths }, request);
});

/** Tensors that published files have beside those of the model. */
const EXTRA: StoredTensor[] = [
  ['text_encoders.clip_l.logit_scale', 'F32', []],
  ['text_encoders.clip_g.logit_scale', 'F32', []],
  ['text_encoders.clip_l.transformer.text_model.embeddings.position_ids', 'I64', [1, 77]],
  ['model_ema.decay', 'F32', []],
].map(([name, dtype, shape]) => {
  const count = (shape as number[]).reduce((product, size) => product * size, 1);
  return { name, dtype, shape, bytes: new Uint8Array(count * (dtype === 'I64' ? 8 : 4)) } as StoredTensor;
});

it('Stable Diffusion 3 draws from one file with CLIP, T5 in FP8 and the autoencoder', async () => {
  let t5: StoredTensor[] = [];
  const pipeline = tinySD3({
    name: 'sd3-whole',
    words: 'published',
    values: {
      text_encoder_3(tensors) {
        const coded = [...tensors.values()].map((tensor) => float8(tensor, null));
        t5 = coded.flatMap(({ stored }) => stored);
        return named(coded.map(({ numbers }) => numbers));
      },
    },
  });
  const { transformer, vae, text_encoder: first, text_encoder_2: second } = pipeline.tensors;
  const own = t5.find(({ name }) => name === 'encoder.embed_tokens.weight')!;
  const tied = { ...own, name: 'shared.weight' };
  const model = write(
    'sd3_medium_incl_clips_t5xxlfp8',
    originalSD3(transformer!, 1, 'model.diffusion_model.'),
    originalAutoencoder(vae!),
    prefixed(first!, 'text_encoders.clip_l.transformer.'),
    prefixed(second!, 'text_encoders.clip_g.transformer.'),
    prefixed(named([...t5, tied]), 'text_encoders.t5xxl.transformer.'),
    EXTRA,
  );
  const componentPaths = { tokenizer_3: pipeline.folder };
  const request = { prompt: 'a house', maxSequenceLength: 12, steps: 1 };
  await expectNear(pipeline, { model, componentPaths }, request);
  const { notes } = await draw({ model, componentPaths }, request);
  expect(notes).toEqual([]);
});
