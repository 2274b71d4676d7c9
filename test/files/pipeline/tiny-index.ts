// The files of a pipeline without weights, and the error of opening an invalid one.

import { expect } from 'vitest';
import { knownPipelines } from '../../../src/engine/image/families/registry.ts';
import { EngineError } from '../../../src/files/error.ts';
import { openPipeline, type PipelineOptions } from '../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import type { Files } from '../folders.ts';

export const INDEX = {
  _class_name: 'StableDiffusionPipeline',
  _diffusers_version: '0.35.0',
  feature_extractor: [null, null],
  requires_safety_checker: false,
  safety_checker: ['stable_diffusion', 'StableDiffusionSafetyChecker'],
  scheduler: ['diffusers', 'PNDMScheduler'],
  text_encoder: ['transformers', 'CLIPTextModel'],
  tokenizer: ['transformers', 'CLIPTokenizer'],
  unet: ['diffusers', 'UNet2DConditionModel'],
  vae: ['diffusers', 'AutoencoderKL'],
};

export const PIPELINE: Files = {
  'model_index.json': INDEX,
  'scheduler/scheduler_config.json': { _class_name: 'PNDMScheduler', num_train_timesteps: 1000 },
  'text_encoder/config.json': { architectures: ['CLIPTextModel'], hidden_size: 8 },
  'tokenizer/tokenizer_config.json': { tokenizer_class: 'CLIPTokenizer' },
  'tokenizer/vocab.json': {},
  'unet/config.json': { _class_name: 'UNet2DConditionModel', sample_size: 8 },
  'vae/config.json': { _class_name: 'AutoencoderKL', latent_channels: 4 },
};

export async function refusal(path: string, options: PipelineOptions = {}): Promise<EngineError> {
  const error: unknown = await openPipeline(path, openDiskFolder, knownPipelines(), options).catch(
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(EngineError);
  return error as EngineError;
}
