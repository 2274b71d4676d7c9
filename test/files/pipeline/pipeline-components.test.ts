// Components of a pipeline: which are read, and which are refused.

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { knownPipelines } from '../../../src/engine/image/families/registry.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { temporaryFolders, type Files } from '../folders.ts';
import { INDEX, PIPELINE, refusal } from './tiny-index.ts';

const folderOf = temporaryFolders();

describe('components of a pipeline', () => {
  it.each([
    [null, null],
    ['diffusers', 'StableDiffusionSafetyChecker'],
    ['stable_diffusion', 'StableDiffusionSafetyChecker'],
  ])('need no safety checker: [%s, %s]', async (...safety_checker) => {
    const path = await folderOf({ ...PIPELINE, 'model_index.json': { ...INDEX, safety_checker } });
    expect((await openPipeline(path, openDiskFolder, knownPipelines())).unused).toEqual({});
  });

  it('are named, and not read, if the class has no use for them', async () => {
    const controlnet = ['diffusers', 'ControlNetModel'];
    const path = await folderOf({ ...PIPELINE, 'model_index.json': { ...INDEX, controlnet } });
    const { unused, components } = await openPipeline(path, openDiskFolder, knownPipelines());
    expect(unused).toEqual({ controlnet: 'ControlNetModel' });
    expect(components).not.toHaveProperty('controlnet');
  });

  it('of an unknown class, or left out, are replaced by what the user gives', async () => {
    for (const vae of [
      ['diffusers', 'Nonesuch'],
      [null, null],
    ]) {
      const path = await folderOf({ ...PIPELINE, 'model_index.json': { ...INDEX, vae } });
      const options = { componentPaths: { vae: join(await folderOf(PIPELINE), 'vae') } };
      const { components } = await openPipeline(path, openDiskFolder, knownPipelines(), options);
      expect(components['vae']).toMatchObject({ className: 'AutoencoderKL' });
    }
  });

  it('of several classes by one file are of the class that model_index.json names', async () => {
    const index = {
      ...INDEX,
      scheduler: ['diffusers', 'DDIMScheduler'],
      tokenizer: ['transformers', 'CLIPTokenizerFast'],
    };
    const { components } = await openPipeline(
      await folderOf({ ...PIPELINE, 'model_index.json': index }),
      openDiskFolder,
      knownPipelines(),
    );
    expect(components['scheduler']).toMatchObject({ className: 'DDIMScheduler' });
    expect(components['tokenizer']).toMatchObject({ className: 'CLIPTokenizerFast' });
  });
});

describe('a pipeline component is refused:', () => {
  it.each<[string, Files, Files, string, RegExp]>([
    [
      'a component its class needs',
      {},
      { vae: [null, null] },
      'bad_checkpoint',
      /names no vae, which its pipeline class needs: give one with `componentPaths`/,
    ],
    [
      'a component class that only model_index.json names',
      {},
      { unet: ['diffusers', 'NonesuchModel'] },
      'unsupported',
      /model_index\.json in .* names the class NonesuchModel, which is not built in as unet: it may be UNet2DConditionModel, and/,
    ],
    [
      'a component class named as what every object of JavaScript has',
      {},
      { vae: ['diffusers', 'constructor'] },
      'unsupported',
      /names the class constructor, which is not built in as vae/,
    ],
    [
      'a class of another library',
      {},
      { vae: ['transformers', 'AutoencoderKL'] },
      'bad_checkpoint',
      /says that vae is AutoencoderKL of the library transformers, which has no such class: AutoencoderKL is a class of diffusers/,
    ],
    ['a component that is a number', {}, { vae: 3 }, 'bad_checkpoint', /has "vae": 3; a component is/],
    [
      'a class that is no name',
      {},
      { _class_name: 7 },
      'bad_checkpoint',
      /has "_class_name": 7; it is the name of a pipeline class/,
    ],
    [
      'half a component',
      {},
      { vae: ['diffusers', null] },
      'bad_checkpoint',
      /has "vae": \["diffusers",null\]; a component is \["library", "class"\], or \[null, null\]/,
    ],
    [
      'a safety checker that is none',
      {},
      { safety_checker: ['diffusers', 'UNet2DConditionModel'] },
      'unsupported',
      /names the class UNet2DConditionModel, which is not built in as safety_checker/,
    ],
    [
      'a scheduler that is none',
      {},
      { scheduler: ['diffusers', 'AutoencoderKL'] },
      'unsupported',
      /names the class AutoencoderKL, which is not built in as scheduler/,
    ],
    [
      'a UNet that reads no text',
      {},
      { unet: ['diffusers', 'UNet2DModel'] },
      'unsupported',
      /has a UNet2DModel as unet, which draws without a text/,
    ],
    [
      'a component that is quantized, by the method',
      {
        'unet/config.json': {
          _class_name: 'UNet2DConditionModel',
          quantization_config: { quant_method: 'torchao' },
        },
      },
      {},
      'unsupported',
      /the unet in .*unet is quantized with torchao \(quantization_config in config\.json\), which is not read: give the original with `componentPaths`/,
    ],
    [
      'a text encoder of a method that is not computed',
      {
        'text_encoder/config.json': {
          architectures: ['CLIPTextModel'],
          quantization_config: { quant_method: 'quanto', weights_dtype: 'int4' },
        },
      },
      {},
      'unsupported',
      /the text_encoder in .* is quantized with quanto/,
    ],
    [
      'a component whose quantization stands beside its configuration',
      { 'vae/quanto_qmap.json': {} },
      {},
      'unsupported',
      /the vae in .* is quantized \(quanto_qmap\.json\), which is not read/,
    ],
    [
      'a component class',
      { 'vae/config.json': { _class_name: 'AutoencoderDC' } },
      {},
      'unsupported',
      /vae is of class AutoencoderDC, which is not built in as vae: it may be AutoencoderKL, AutoencoderTiny, and `componentPaths`/,
    ],
    [
      'a component in Python',
      {},
      { unet: ['my_unet', 'MyUNet'] },
      'unsupported',
      /defines MyUNet by Python code in its own repository \(unet\/my_unet\.py\), which is never run/,
    ],
    [
      'a component by auto_map',
      {
        'text_encoder/config.json': {
          architectures: ['MyEncoder'],
          auto_map: { AutoModel: 'modeling_my.MyEncoder' },
        },
      },
      {},
      'unsupported',
      /MyEncoder by Python code in its own repository \(text_encoder\/modeling_my\.py\)/,
    ],
  ])('%s', async (_, files, index, code, message) => {
    const path = await folderOf({ ...PIPELINE, ...files, 'model_index.json': { ...INDEX, ...index } });
    const error = await refusal(path);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });

  it.each([
    ['unet', 'config.json', 'UNet2DConditionModel'],
    ['scheduler', 'scheduler_config.json', 'PNDMScheduler'],
  ])('a folder that is missing, as %s, by the file that names it', async (name, file, className) => {
    const { [`${name}/${file}`]: _, ...rest } = PIPELINE;
    const path = await folderOf(rest);
    expect(await refusal(path)).toMatchObject({
      code: 'bad_checkpoint',
      param: 'model_index.json',
      message: `${path} has no folder ${name}, which model_index.json names (${className}): fetch the pipeline again`,
    });
  });

  it.each([
    ['scheduler', 'scheduler_config.json'],
    ['text_encoder', 'config.json'],
    ['unet', 'config.json'],
    ['vae', 'config.json'],
  ])('a %s without its %s', async (name, file) => {
    const { [`${name}/${file}`]: _, ...others } = PIPELINE;
    const path = await folderOf({ ...others, [`${name}/.part`]: '' });
    const error = await refusal(path);
    expect(error).toMatchObject({ code: 'bad_checkpoint', param: `${name}/${file}` });
    expect(error.message).toBe(`${join(path, name)} has no ${file}: fetch the pipeline again`);
  });

  it('a component that the pipeline does not have', async () => {
    const error = await refusal(await folderOf(PIPELINE), { componentPaths: { transformer: '/anywhere' } });
    expect(error.code).toBe('bad_request');
    expect(error.message).toBe(
      'componentPaths names transformer, which is not a component of this pipeline: it has scheduler, text_encoder, tokenizer, unet, vae',
    );
  });
});
