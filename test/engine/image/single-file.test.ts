// Models in one file: each layout draws bit for bit what the diffusers layout of the same tensors draws.

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { knownPipelines } from '../../../src/engine/image/families/registry.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { draw, expectSame, prefixed, write } from './drawn-files.ts';
import { originalFlux } from './original-flux.ts';
import {
  originalAutoencoder,
  originalCausal,
  originalOpenClip,
  originalUNet,
  originalZImage,
} from './original-names.ts';
import { newFolder, scratch, tinySD1, tinySD2, tinyXL, type TinyPipeline } from './tiny-pipelines.ts';
import { tinyFlux, tinyQwenImage, tinyZImage } from './tiny-transformers.ts';
import { readTensors, writeTensors, type StoredTensor } from './tiny-tensors.ts';

/** Constants that the original programs save with their models. */
const BUFFERS: StoredTensor[] = ['betas', 'alphas_cumprod', 'sqrt_alphas_cumprod', 'model_ema.decay'].map(
  (name) => ({
    name,
    dtype: 'F32',
    shape: [1],
    bytes: new Uint8Array(4),
  }),
);

describe('Stable Diffusion 1', () => {
  let pipeline: TinyPipeline;
  let unet: StoredTensor[];
  let vae: StoredTensor[];
  let text: StoredTensor[];
  let tokenizer: string;
  beforeAll(() => {
    pipeline = tinySD1();
    tokenizer = pipeline.folder;
    unet = originalUNet(pipeline.tensors['unet']!);
    vae = originalAutoencoder(pipeline.tensors['vae']!);
    text = prefixed(pipeline.tensors['text_encoder']!, 'cond_stage_model.transformer.');
  });

  it('draws from a file of A1111, in whatever folder it lies', async () => {
    const published = tinySD1('published');
    const encoder = prefixed(published.tensors['text_encoder']!, 'cond_stage_model.transformer.');
    const { notes } = await expectSame(published, { model: write('whole', unet, vae, encoder, BUFFERS) });
    expect(notes).toEqual([]);
    const folder = newFolder('a model');
    const file = writeTensors(join(folder, 'weights.safetensors'), [...unet, ...vae, ...text]);
    const opened = async (path: string) => {
      const { className, components } = await openPipeline(path, openDiskFolder, knownPipelines());
      return [className, ...Object.values(components).map(({ config }) => config)];
    };
    expect(await opened(folder)).toEqual(await opened(file));
  });

  it('takes the autoencoder and the text encoder from files of their own', async () => {
    const bare = (tensors: readonly StoredTensor[], prefix: string): StoredTensor[] =>
      tensors.map((tensor) => ({ ...tensor, name: tensor.name.slice(prefix.length) }));
    const model = write('unet', bare(unet, 'model.diffusion_model.'));
    await expect(draw({ model })).rejects.toThrow(/holds the unet and no text_encoder, vae: give each with/);
    const componentPaths = {
      tokenizer,
      vae: write('vae', bare(vae, 'first_stage_model.')),
      text_encoder: write('clip_l', bare(text, 'cond_stage_model.transformer.')),
    };
    await expectSame(pipeline, { model, componentPaths });
    // Folders in the diffusers layout and whole checkpoints do as well.
    const whole = write('parts', unet, vae, text);
    const parts = { tokenizer, vae: whole, text_encoder: `${pipeline.folder}/text_encoder` };
    await expectSame(pipeline, { model, componentPaths: parts });
  });

  it('draws from text encoders without the outer name, and with the names of diffusers', async () => {
    const inner = text.map((tensor) => ({ ...tensor, name: tensor.name.replace('text_model.', '') }));
    const names = prefixed(pipeline.tensors['unet']!, 'model.diffusion_model.');
    const file = write('diffusers names', names, prefixed(pipeline.tensors['vae']!, 'vae.'), inner);
    await expectSame(pipeline, { model: file, componentPaths: { tokenizer } });
  });

  it('inpaints with a UNet of nine channels', async () => {
    const inpainting = tinySD1('few', 9);
    const file = write('inpainting', originalUNet(inpainting.tensors['unet']!), vae, text);
    const image = { width: 32, height: 16, data: Uint8Array.from({ length: 1536 }, (_, i) => (i * 7) % 256) };
    const mask = { ...image, data: image.data.map((_, i) => (i % 96 < 48 ? 255 : 0)) };
    const options = { model: file, componentPaths: { tokenizer } };
    const { pipeline: name } = await expectSame(inpainting, options, { image, mask, steps: 2 });
    expect(name).toBe('StableDiffusionInpaintPipeline');
  });
});

describe('Stable Diffusion 2', () => {
  // One of them has no tokenizer beside it, so that what is built in fills texts up as the pipeline's own does.
  it.each([
    ['epsilon', 'few'],
    ['v_prediction', 'published'],
  ] as const)('draws from a file of %s', async (prediction, words) => {
    const pipeline = tinySD2(prediction, words);
    const unet = originalUNet(pipeline.tensors['unet']!);
    const vae = originalAutoencoder(pipeline.tensors['vae']!);
    const text = originalOpenClip(pipeline.tensors['text_encoder']!, 'cond_stage_model.model.');
    // OpenCLIP's last layer is in the file and is not run.
    const last = text
      .filter(({ name }) => name.includes('.resblocks.22.'))
      .map((tensor) => ({ ...tensor, name: tensor.name.replace('.22.', '.23.') }));
    const path = join(scratch, `second-${prediction}.safetensors`);
    const metadata = { 'modelspec.prediction_type': prediction === 'epsilon' ? 'epsilon' : 'v' };
    const model = writeTensors(path, [...unet, ...vae, ...text, ...last], metadata);
    const beside = { componentPaths: { tokenizer: pipeline.folder } };
    await expectSame(pipeline, { model, ...(words === 'few' && beside) });
  });
});

const CPP: [string | RegExp, string][] = [
  ['.transformer.transformer.resblocks.', '.transformer.text_model.encoder.layers.'],
  ['.attn.in_proj_', '.self_attn.in_proj.'],
  ['.attn.out_proj.', '.self_attn.out_proj.'],
  ['.ln_1.', '.layer_norm1.'],
  ['.ln_2.', '.layer_norm2.'],
  ['.c_fc.', '.fc1.'],
  ['.c_proj.', '.fc2.'],
  [/transformer\.token_embedding/, 'transformer.text_model.embeddings.token_embedding'],
  [/transformer\.positional_embedding$/, 'transformer.text_model.embeddings.position_embedding.weight'],
  [/transformer\.ln_final/, 'transformer.text_model.final_layer_norm'],
  [/transformer\.text_projection$/, 'transformer.text_model.text_projection'],
];

/** The name that stable-diffusion.cpp gives to a tensor of OpenCLIP. */
const cppName = (name: string): string => CPP.reduce((text, [own, other]) => text.replace(own, other), name);

describe('Stable Diffusion XL', () => {
  let pipeline: TinyPipeline;
  beforeAll(() => void (pipeline = tinyXL({ words: 'published' })));

  it('draws from a file with both text encoders', async () => {
    const { unet, vae, text_encoder: first, text_encoder_2: second } = pipeline.tensors;
    const file = write(
      'xl',
      originalUNet(unet!),
      originalAutoencoder(vae!),
      prefixed(first!, 'conditioner.embedders.0.transformer.'),
      originalOpenClip(second!, 'conditioner.embedders.1.model.'),
    );
    await expectSame(pipeline, { model: file });
  });

  it('draws from text encoders that stable-diffusion.cpp renamed', async () => {
    const { unet, vae, text_encoder: first, text_encoder_2: second } = pipeline.tensors;
    const renamed = originalOpenClip(second!, 'cond_stage_model.1.transformer.').map((tensor) => ({
      ...tensor,
      name: cppName(tensor.name),
    }));
    const file = write(
      'xl cpp',
      originalUNet(unet!),
      originalAutoencoder(vae!),
      prefixed(first!, 'cond_stage_model.transformer.'),
      renamed,
    );
    await expectSame(pipeline, { model: file });
  });

  it('refines an image with the refiner, which has one text encoder', async () => {
    const refiner = tinyXL({ words: 'published', refiner: true, name: 'sdxl-refiner' });
    const { unet, vae, text_encoder_2: second } = refiner.tensors;
    const file = write(
      'refiner',
      originalUNet(unet!),
      originalAutoencoder(vae!),
      originalOpenClip(second!, 'conditioner.embedders.0.model.'),
    );
    const image = { width: 32, height: 16, data: Uint8Array.from({ length: 1536 }, (_, i) => (i * 7) % 256) };
    const { pipeline: name } = await expectSame(refiner, { model: file }, { image, strength: 0.8, steps: 2 });
    expect(name).toBe('StableDiffusionXLImg2ImgPipeline');
  });
});

describe('Z-Image', () => {
  const request = { prompt: 'a house', guidance: 0 };

  it('draws from a file with everything, and from the transformer with files beside it', async () => {
    const pipeline = tinyZImage();
    const text = await readTensors(`${pipeline.folder}/text_encoder/model.safetensors`);
    const transformer = originalZImage(pipeline.tensors['transformer']!);
    const vae = originalAutoencoder(pipeline.tensors['vae']!, 'vae.');
    const whole = write('z-image', transformer, vae, prefixed(text, 'text_encoders.qwen3_4b.transformer.'));
    await expect(draw({ model: whole }, request)).rejects.toThrow(
      /holds the transformer and no tokenizer: give it with `componentPaths`.* such as Tongyi-MAI\/Z-Image-Turbo/,
    );
    const tokenizer = `${pipeline.folder}/tokenizer`;
    await expectSame(pipeline, { model: whole, componentPaths: { tokenizer } }, request);
    const alone = write('z-image transformer', originalZImage(pipeline.tensors['transformer']!, ''));
    const beside = {
      tokenizer: pipeline.folder,
      text_encoder: write('qwen', [...text.values()]),
      vae: write('ae', originalAutoencoder(pipeline.tensors['vae']!, '')),
    };
    await expectSame(pipeline, { model: alone, componentPaths: beside }, request);
  });
});

it("Qwen-Image draws from a transformer with a text encoder and an autoencoder of Wan's layout beside it", async () => {
  const pipeline = tinyQwenImage();
  const request = { prompt: 'a house', guidance: 1 };
  const { transformer, vae, text_encoder: text } = pipeline.tensors;
  const tower = ['visual.patch_embed.proj.weight', 'visual.blocks.0.mlp.gate_proj.weight'].map(
    (name): StoredTensor => ({
      name,
      dtype: 'F16',
      shape: [8, 8],
      bytes: new Uint8Array(128),
    }),
  );
  const componentPaths = {
    tokenizer: pipeline.folder,
    vae: write('qwen vae', originalCausal(vae!, '')),
    text_encoder: write('qwen text', [...text!.values()], tower),
  };
  const model = write('qwen', prefixed(transformer!, 'model.diffusion_model.'));
  await expectSame(pipeline, { model, componentPaths }, request);
});

it("FLUX.1 draws from a transformer of its makers' layout with files of T5, CLIP and the autoencoder beside it", async () => {
  const pipeline = tinyFlux({ words: 'published' });
  const request = { prompt: 'a house', maxSequenceLength: 20 };
  const { transformer, vae, text_encoder_2: text } = pipeline.tensors;
  const model = write('flux', originalFlux(transformer!, ''));
  const clip = await readTensors(`${pipeline.folder}/text_encoder/model.safetensors`);
  const componentPaths = {
    tokenizer_2: pipeline.folder,
    text_encoder: write('clip_l', [...clip.values()]),
    text_encoder_2: write('t5xxl', [...text!.values()]),
    vae: write('flux ae', originalAutoencoder(vae!, '')),
  };
  await expect(draw({ model }, request)).rejects.toThrow(
    /holds the transformer and no .*text_encoder_2.* such as black-forest-labs\/FLUX\.1-schnell/,
  );
  await expectSame(pipeline, { model, componentPaths }, request);
  const named = write('flux of diffusers', prefixed(transformer!, 'transformer.'));
  await expectSame(pipeline, { model: named, componentPaths }, request);
});
