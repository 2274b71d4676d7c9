// Refusals of opening an image model and of requests: the message names the subject, the value and the remedy.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { ImageModelOptions } from '../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import type { Platform } from '../../../src/engine/platform/platform.ts';
import { NAN, spoilTensor } from '../checkpoint-folder.ts';
import { changed, open, REQUEST } from './open-model.ts';
import { tinyPipeline } from './pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000 });

describe('weights that do not fit the configuration', () => {
  it.each<[string, Partial<ImageModelOptions>, string]>([
    [
      'too few for the denoiser',
      { model: changed('unet/config.json', { layers_per_block: 3 }) },
      'is missing',
    ],
    [
      'too many for the text encoder',
      { model: changed('text_encoder/config.json', { num_hidden_layers: 1 }) },
      'is not part of',
    ],
    [
      "a text that is not as wide as another model's denoiser takes it",
      { model: changed('unet/config.json', { cross_attention_dim: 32 }) },
      'the text encoder gives 64 columns, and the unet takes 32',
    ],
    [
      'a text encoder of another width',
      { model: changed('text_encoder/config.json', { intermediate_size: 20 }) },
      'text_encoder/model.safetensors: tensor text_model.encoder.layers.0.mlp.fc1.weight has the shape [',
    ],
    [
      "another component's for the denoiser",
      { transformerWeightsPath: join(tinyPipeline('sd1'), 'vae') },
      'is missing',
    ],
  ])('are refused as the model opens: %s', async (_, options, message) => {
    await expect(open(options)).rejects.toMatchObject({
      code: 'bad_checkpoint',
      message: expect.stringContaining(message),
    });
  });
});

it('weights that are cut off are refused by the file that holds them', async () => {
  const model = changed('model_index.json', {});
  const path = join(model, 'unet', 'diffusion_pytorch_model.safetensors');
  writeFileSync(path, readFileSync(path).subarray(0, 1000));
  await expect(open({ model })).rejects.toMatchObject({
    code: 'bad_checkpoint',
    message: expect.stringContaining(`safetensors in ${join(model, 'unet')} is not a sound safetensors file`),
  });
});

it.each([
  ['text_encoder', 'model.safetensors', 'text_model.embeddings.position_embedding.weight'],
  ['unet', 'diffusion_pytorch_model.safetensors', 'conv_in.weight'],
  ['vae', 'diffusion_pytorch_model.safetensors', 'decoder.conv_norm_out.bias'],
])('NaN in a weight of the %s is refused by file, tensor and count', async (component, file, tensor) => {
  const model = changed('model_index.json', {});
  spoilTensor(join(model, component), tensor, NAN, [1, 2], file);
  await expect(open({ model, prepare: true })).rejects.toMatchObject({
    code: 'bad_checkpoint',
    message: expect.stringContaining(
      `${join(model, component, file)}: tensor ${tensor} of ${file} has 2 values that are NaN or infinite`,
    ),
  });
});

it('componentPaths are refused where a path is not a model', async () => {
  await expect(open({ componentPaths: { vae: 'nonesuch' } })).rejects.toMatchObject({
    code: 'model_not_found',
    param: 'componentPaths',
  });
});

describe('a tokenizer is refused as the model opens', () => {
  const opening = async (files: Record<string, string>, base = tinyPipeline('sd1')) => {
    const model = changed('model_index.json', {}, base);
    const folder = join(model, 'tokenizer');
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return open({ model });
  };

  it.each<[string, Record<string, string>, string]>([
    ['whose folder is empty', {}, 'has no tokenizer: fetch'],
    ['that is cut off', { 'tokenizer.json': '{"model": {' }, 'tokenizer.json'],
    ['that is none', { 'tokenizer.json': '{}' }, 'the tokenizer cannot be built'],
    ['without tokens', { 'vocab.json': '{}', 'merges.txt': '' }, 'has no tokens'],
  ])('%s', async (_, files, message) => {
    const refusal = { code: 'bad_checkpoint', message: expect.stringContaining(message) as string };
    await expect(opening(files)).rejects.toMatchObject(refusal);
  });

  it('of Z-Image too', async () => {
    await expect(opening({}, tinyPipeline('z-image'))).rejects.toMatchObject({ code: 'bad_checkpoint' });
  });

  it('of Z-Image where it has no chat template', async () => {
    const folder = join(tinyPipeline('z-image'), 'tokenizer');
    const kept = readdirSync(folder).filter(
      (name) => name.startsWith('tokenizer') && name !== 'tokenizer_config.json',
    );
    const files = kept.map((name) => [name, readFileSync(join(folder, name), 'utf8')]);
    await expect(opening(Object.fromEntries(files), tinyPipeline('z-image'))).rejects.toMatchObject({
      code: 'bad_checkpoint',
      message: expect.stringContaining('tokenizer has no chat template, which prompts are written into'),
    });
  });
});

it("a checkpoint's schedule that is not built in is refused early, and can be replaced", async () => {
  const folder = changed('model_index.json', { scheduler: ['diffusers', 'DPMSolverSDEScheduler'] });
  const { model } = await open({ model: folder });
  await expect(model.resolve(REQUEST)).rejects.toMatchObject({ code: 'unsupported' });
  const resolved = await model.resolve({ ...REQUEST, scheduler: 'euler' });
  expect(resolved.values.scheduler).toBe('euler');
  await model.close();
});

it('strips are refused where the decoder has none', async () => {
  const { model } = await open({ componentPaths: { vae: tinyPipeline('autoencoder-tiny') } });
  await expect(model.resolve({ ...REQUEST, tiling: true })).rejects.toMatchObject({ param: 'tiling' });
  expect((await model.resolve(REQUEST)).values.steps).toBe(2);
  await model.close();
});

describe('image requests are refused with the field, the value and the remedy', () => {
  it.each([
    [{ width: 41 }, 'width', /41, which is not a multiple of 4; the nearest are 40 and 44/],
    [{ height: 0 }, 'height', /0; it is an integer from 4/],
    [{ steps: 0 }, 'steps', /is 0, it must be a whole number from 1 to 1000/],
    [{ guidance: -1 }, 'guidance', /is -1, it must be a number from 0 to 1000/],
    [{ guidance: 1e39 }, 'guidance', /is 1e\+39, it must be a number from 0 to 1000/],
    [{ guidanceRescale: 2 }, 'guidanceRescale', /is 2, it must be a number from 0 to 1/],
    [{ samples: 0 }, 'samples', /is 0, it must be a whole number/],
    [{ seed: -1 }, 'seed', /is -1, it must be a whole number/],
    [{ strength: 0.5 }, 'strength', /none is given/],
    [{ mask: { width: 1, height: 1, data: new Uint8Array(3) } }, 'mask', /needs the image/],
    [{ clipSkip: 9 }, 'clipSkip', /9; it is an integer from 0 to/],
    [{ scheduler: 'nope' }, 'scheduler', /scheduler nope is unknown; take one of euler, euler-karras/],
    [{ scheduler: 'flow-euler' }, 'scheduler', /flow-euler/],
    [{ kwargs: { frobnicate: 1 } }, 'kwargs', /no call argument frobnicate; it takes .*guidance_rescale/],
    [{ kwargs: { eta: 3 } }, 'kwargs', /eta is 3, it takes a number from 0 to 1/],
    [{ kwargs: { timesteps: Array(1e6).fill(1) } }, 'kwargs', /it takes a list of at most 1001 integers/],
    [{ kwargs: { sigmas: [1e300, 0] } }, 'kwargs', /sigmas is \[1e\+300,0\], it takes a list of at most/],
    [
      { kwargs: { clip_skip: 1e300 } },
      'kwargs',
      /clip_skip is 1e\+300, it takes an integer from 0 to 1000000/,
    ],
    [{ kwargs: { eta: 0.5 } }, 'eta', /PNDMScheduler takes no eta/],
    [{ kwargs: { timesteps: [999, 9] } }, 'timesteps', /PNDMScheduler takes no timesteps of one's own/],
    [
      { kwargs: { timesteps: [9, 999] }, scheduler: 'euler' },
      'timesteps',
      /each smaller than the one before/,
    ],
  ])('%j', async (wrong, param, message) => {
    const { model } = await open();
    const refusal = await model.resolve({ ...REQUEST, ...wrong }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'bad_request', param, message: expect.stringMatching(message) });
    await model.close();
  });
});

it('a model made to fill masks refuses a request without a mask', async () => {
  const { model } = await open({ model: tinyPipeline('sd1-inpaint') });
  await expect(model.resolve(REQUEST)).rejects.toMatchObject({ code: 'bad_request', param: 'mask' });
  const image = { width: 40, height: 24, data: new Uint8Array(3 * 40 * 24) };
  await expect(model.resolve({ ...REQUEST, image, mask: image })).resolves.toMatchObject({
    type: 'resolved',
  });
  await model.close();
});

it.each([
  ['unet/config.json', { in_channels: 8 }, 'unsupported', /in_channels 8 is not built; .* has 4, or 9/],
  ['vae/config.json', { latent_channels: 16 }, 'bad_checkpoint', /denoises 4 channels, and its vae has 16/],
])('the component %s with %j is refused, and no file stays open', async (file, values, code, message) => {
  const left = new Set<object>();
  const platform: Platform = {
    ...nodePlatform,
    async openFolder(path) {
      const folder = await nodePlatform.openFolder(path);
      const open = async (name: string) => {
        const source = await folder.open(name);
        left.add(source);
        const close = async () => {
          left.delete(source);
          await source.close();
        };
        return { ...source, close };
      };
      return { ...folder, open };
    },
  };
  const opened = openInline(IMAGE, platform, { model: changed(file, values) });
  await expect(opened).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  expect(left.size).toBe(0);
});

it.each([{ backend: 'generic' }, { allF32: true }] satisfies Partial<ImageModelOptions>[])(
  'quantization int8 and %j contradict each other',
  async (options) => {
    const opened = open({ ...options, quantization: 'int8' });
    await expect(opened).rejects.toMatchObject({ code: 'bad_request', param: 'quantization' });
  },
);

it('fields of Stable Diffusion are refused by Z-Image', async () => {
  const { model } = await open({ model: tinyPipeline('z-image') });
  const refusal = (wrong: object) =>
    model.resolve({ prompt: 'a house', seed: 1, width: 64, height: 64, ...wrong });
  for (const param of ['guidanceRescale', 'clipSkip'])
    await expect(refusal({ [param]: 1 })).rejects.toMatchObject({ code: 'bad_request', param });
  await expect(refusal({ guidanceRescale: 0, clipSkip: 0 })).resolves.toMatchObject({ type: 'resolved' });
  await model.close();
});
