// Sound files of models in one file: those of each layout, GGUF, FP8 and NF4.

import { float8, ggufOf, nf4, type CodedTensor } from './coded-tensors.ts';
import { ggufT5, originalFlux } from './original-flux.ts';
import {
  originalAutoencoder,
  originalCausal,
  originalOpenClip,
  originalUNet,
  originalZImage,
} from './original-names.ts';
import type { MutationBase, MutationBases } from './mutation-bases.ts';
import { goldenRequest } from './pipeline-golden.ts';
import { tinyChroma, tinyKlein } from './tiny-flux2.ts';
import { tinySD1, tinySD2, tinyXL } from './tiny-pipelines.ts';
import { randomFactors, readTensors, type StoredTensor, type StoredTensors } from './tiny-tensors.ts';
import { tinyFlux, tinyQwenImage, tinyZImage } from './tiny-transformers.ts';

const prefixed = (tensors: StoredTensors, prefix: string): StoredTensor[] =>
  [...tensors.values()].map((tensor) => ({ ...tensor, name: prefix + tensor.name }));

function originalXL({
  unet,
  vae,
  text_encoder: first,
  text_encoder_2: second,
}: Record<string, StoredTensors>) {
  return [
    ...originalUNet(unet!),
    ...originalAutoencoder(vae!),
    ...prefixed(first!, 'conditioner.embedders.0.transformer.'),
    ...originalOpenClip(second!, 'conditioner.embedders.1.model.'),
  ];
}

function originalSD1({ unet, vae, text_encoder: text }: Record<string, StoredTensors>): StoredTensor[] {
  const encoder = prefixed(text!, 'cond_stage_model.transformer.');
  return [...originalUNet(unet!), ...originalAutoencoder(vae!), ...encoder];
}

/** Tensors of which the matrices of layers are coded. */
const inCodes = (
  tensors: readonly StoredTensor[],
  code: (tensor: StoredTensor) => CodedTensor,
): StoredTensor[] =>
  tensors.flatMap((tensor) =>
    tensor.shape.length === 2 && /blocks\.|layers\./.test(tensor.name) ? code(tensor).stored : [tensor],
  );

/** A base with one file for the transformer of a pipeline in the diffusers layout. */
const transformerFile = (
  folder: string,
  name: string,
  file: StoredTensor[] | Uint8Array,
  request: object = {},
): MutationBase => ({
  files: { [name]: file },
  options: { model: folder, transformerWeightsPath: `@/${name}` },
  request,
});

const FLUX_REQUEST = { maxSequenceLength: 12, steps: 1 };

export const FILE_BASES: MutationBases = {
  'file-sd1': () => ({
    files: { 'm.safetensors': originalSD1(tinySD1('published').tensors) },
    options: { model: '@/m.safetensors' },
  }),
  'file-sd2': () => {
    const { unet, vae, text_encoder: text } = tinySD2('v_prediction', 'published').tensors;
    const encoder = originalOpenClip(text!, 'cond_stage_model.model.');
    const file = [...originalUNet(unet!), ...originalAutoencoder(vae!), ...encoder];
    return { files: { 'm.safetensors': file }, options: { model: '@/m.safetensors' } };
  },
  'file-sdxl': () => ({
    files: { 'm.safetensors': originalXL(tinyXL({ words: 'published' }).tensors) },
    options: { model: '@/m.safetensors' },
  }),
  'file-z-image': async () => {
    const { folder, tensors } = tinyZImage();
    const text = await readTensors(`${folder}/text_encoder/model.safetensors`);
    const file = [
      ...originalZImage(tensors['transformer']!),
      ...originalAutoencoder(tensors['vae']!, 'vae.'),
      ...prefixed(text, 'text_encoders.qwen3_4b.transformer.'),
    ];
    return {
      files: { 'm.safetensors': file },
      options: { model: '@/m.safetensors', componentPaths: { tokenizer: `${folder}/tokenizer` } },
    };
  },
  'file-qwen': () => {
    const { folder, tensors } = tinyQwenImage();
    const { transformer, vae, text_encoder: text } = tensors;
    const tower = ['patch_embed.proj', 'blocks.0.mlp.gate_proj'].flatMap((name) =>
      randomFactors(`visual.${name}`, { weight: [8, 8] }),
    );
    return {
      files: {
        'm.safetensors': prefixed(transformer!, 'model.diffusion_model.'),
        'vae.safetensors': originalCausal(vae!, ''),
        'text.safetensors': [...text!.values(), ...tower],
      },
      options: {
        model: '@/m.safetensors',
        componentPaths: { tokenizer: folder, vae: '@/vae.safetensors', text_encoder: '@/text.safetensors' },
      },
    };
  },
  'file-flux': async () => {
    const { folder, tensors } = tinyFlux({ words: 'published' });
    const { transformer, vae, text_encoder_2: text } = tensors;
    const clip = await readTensors(`${folder}/text_encoder/model.safetensors`);
    return {
      files: {
        'm.safetensors': originalFlux(transformer!, ''),
        'clip_l.safetensors': [...clip.values()],
        't5xxl.safetensors': [...text!.values()],
        'ae.safetensors': originalAutoencoder(vae!, ''),
      },
      options: {
        model: '@/m.safetensors',
        componentPaths: {
          tokenizer_2: folder,
          text_encoder: '@/clip_l.safetensors',
          text_encoder_2: '@/t5xxl.safetensors',
          vae: '@/ae.safetensors',
        },
      },
      request: FLUX_REQUEST,
    };
  },
  'file-klein': () => {
    const { folder, tensors } = tinyKlein();
    const file = originalFlux(tensors['transformer']!, '');
    return transformerFile(folder, 'klein.safetensors', file, { maxSequenceLength: 20 });
  },
  'file-chroma': () => {
    const { folder, tensors } = tinyChroma();
    const { transformer, text_encoder: text } = tensors;
    return {
      files: { 'm.safetensors': originalFlux(transformer!, ''), 't5xxl.safetensors': [...text!.values()] },
      options: {
        model: '@/m.safetensors',
        componentPaths: { tokenizer: folder, vae: folder, text_encoder: '@/t5xxl.safetensors' },
      },
      request: FLUX_REQUEST,
    };
  },
  'file-sd3': async () => {
    const { options } = await goldenRequest('pipeline-sd3');
    const { scheduler: _, ...componentPaths } = options.componentPaths;
    const file = `${options.model}/transformer/diffusion_pytorch_model.safetensors`;
    const base = transformerFile(
      options.model,
      'sd3.safetensors',
      prefixed(await readTensors(file), 'transformer.'),
      FLUX_REQUEST,
    );
    return { ...base, options: { ...base.options, componentPaths } };
  },
  'fp8-z-image': () => {
    const { folder, tensors } = tinyZImage();
    const file = inCodes(originalZImage(tensors['transformer']!, ''), (tensor) =>
      float8(tensor, 'scale_weight'),
    );
    const mark: StoredTensor = { name: 'scaled_fp8', dtype: 'F8_E4M3', shape: [2], bytes: new Uint8Array(2) };
    return transformerFile(folder, 'fp8.safetensors', [...file, mark]);
  },
  'fp8-flux': () => {
    const { folder, tensors } = tinyFlux();
    const file = originalFlux(tensors['transformer']!, '').flatMap((tensor) => float8(tensor, null).stored);
    return transformerFile(folder, 'fp8.safetensors', file, FLUX_REQUEST);
  },
  'nf4-z-image': () => {
    const { folder, tensors } = tinyZImage();
    return transformerFile(
      folder,
      'nf4.safetensors',
      inCodes(originalZImage(tensors['transformer']!, ''), nf4),
    );
  },
  'nf4-flux': () => {
    const { folder, tensors } = tinyFlux();
    const file = inCodes(originalFlux(tensors['transformer']!, ''), nf4);
    return transformerFile(folder, 'nf4.safetensors', file, FLUX_REQUEST);
  },
  'gguf-sd1': () => {
    const { folder, tensors } = tinySD1();
    return transformerFile(folder, 'sd1.gguf', ggufOf(originalUNet(tensors['unet']!, ''), 'sd1').file);
  },
  'gguf-sdxl': () => {
    const { folder, tensors } = tinyXL();
    return transformerFile(folder, 'sdxl.gguf', ggufOf(originalUNet(tensors['unet']!, ''), 'sdxl').file);
  },
  'gguf-z-image': () => {
    const { folder, tensors } = tinyZImage();
    const { file } = ggufOf(originalZImage(tensors['transformer']!, ''), 'lumina2');
    return {
      files: { 'lumina2.gguf': file },
      options: {
        model: '@/lumina2.gguf',
        componentPaths: { tokenizer: folder, text_encoder: folder, vae: folder },
      },
    };
  },
  'gguf-flux': () => {
    const { folder, tensors } = tinyFlux();
    const { transformer, text_encoder_2: text } = tensors;
    return {
      files: {
        'flux.gguf': ggufOf(originalFlux(transformer!, ''), 'flux').file,
        't5xxl.gguf': ggufOf(ggufT5(text!), 't5encoder').file,
      },
      options: {
        model: folder,
        transformerWeightsPath: '@/flux.gguf',
        componentPaths: { text_encoder_2: '@/t5xxl.gguf' },
      },
      request: FLUX_REQUEST,
    };
  },
};
