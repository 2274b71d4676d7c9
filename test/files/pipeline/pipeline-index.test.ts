import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PIPELINE_CLASSES } from '../../../src/engine/image/families/class-names.ts';
import { knownPipelines } from '../../../src/engine/image/families/registry.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { temporaryFolders, type Files } from '../folders.ts';
import { INDEX, PIPELINE, refusal } from './tiny-index.ts';

const folderOf = temporaryFolders();

describe('a pipeline', () => {
  it('is its class, its components with their configurations, and its settings', async () => {
    const path = await folderOf(PIPELINE);
    const pipeline = await openPipeline(path, openDiskFolder, knownPipelines());
    expect(pipeline).toMatchObject({
      path,
      className: 'StableDiffusionPipeline',
      settings: { requires_safety_checker: false },
    });
    expect(Object.keys(pipeline.components).sort()).toEqual([
      'scheduler',
      'text_encoder',
      'tokenizer',
      'unet',
      'vae',
    ]);
    const { unet, scheduler } = pipeline.components;
    expect(unet).toMatchObject({ className: 'UNet2DConditionModel', config: { sample_size: 8 } });
    expect(unet?.folder.path).toBe(join(path, 'unet'));
    expect(scheduler).toMatchObject({ className: 'PNDMScheduler', config: { num_train_timesteps: 1000 } });
  });

  it('takes components from elsewhere, whose own files say what they are', async () => {
    const tiny = await folderOf({ 'config.json': { _class_name: 'AutoencoderTiny' } });
    const { components } = await openPipeline(await folderOf(PIPELINE), openDiskFolder, knownPipelines(), {
      componentPaths: { vae: tiny },
    });
    expect(components['vae']).toMatchObject({ className: 'AutoencoderTiny' });
    expect(components['vae']?.folder.path).toBe(tiny);
  });

  it('takes a component of another pipeline', async () => {
    const other = await folderOf({
      ...PIPELINE,
      'vae/config.json': { _class_name: 'AutoencoderTiny' },
      'scheduler/scheduler_config.json': { _class_name: 'LCMScheduler' },
    });
    const path = await folderOf(PIPELINE);
    const { components } = await openPipeline(path, openDiskFolder, knownPipelines(), {
      componentPaths: { vae: other, scheduler: other },
    });
    expect(components['vae']).toMatchObject({ className: 'AutoencoderTiny' });
    expect(components['vae']?.folder.path).toBe(join(other, 'vae'));
    expect(components['scheduler']).toMatchObject({ className: 'LCMScheduler' });
    expect(components['unet']?.folder.path).toBe(join(path, 'unet'));
    const without = await folderOf({ 'model_index.json': INDEX });
    expect(await refusal(path, { componentPaths: { unet: without } })).toMatchObject({
      code: 'model_not_found',
      message: `${without} is a pipeline that has no unet: give one that has it, or the folder of the component`,
    });
  });

  it('has each of them found, and none that it does not have', async () => {
    const tiny = await folderOf({ 'config.json': { _class_name: 'AutoencoderTiny' } });
    const asked: string[][] = [];
    const find = async (...names: string[]) => {
      asked.push(names);
      return tiny;
    };
    const path = await folderOf(PIPELINE);
    const { components } = await openPipeline(path, openDiskFolder, knownPipelines(), {
      componentPaths: { vae: 'a/b' },
      find,
    });
    expect(components['vae']?.folder.path).toBe(tiny);
    await refusal(path, { componentPaths: { vae: 'a/b', other: 'c/d' }, find });
    expect(asked).toEqual([['a/b', 'vae']]);
  });

  it('is the class that is asked for before the one it names', async () => {
    const options = { pipelineClassName: 'StableDiffusionImg2ImgPipeline' };
    const { className } = await openPipeline(
      await folderOf(PIPELINE),
      openDiskFolder,
      knownPipelines(),
      options,
    );
    expect(className).toBe('StableDiffusionImg2ImgPipeline');
  });

  it('is of the family that an id names where it does not say', async () => {
    const path = await folderOf({
      ...PIPELINE,
      'model_index.json': { ...INDEX, _class_name: 'DiffusionPipeline' },
    });
    const options = { modelId: 'someone/stable-diffusion-v1-5' };
    expect((await openPipeline(path, openDiskFolder, knownPipelines(), options)).className).toBe(
      'StableDiffusionPipeline',
    );
    expect((await refusal(path)).message).toMatch(
      /names no pipeline class: say which with `pipelineClassName`, one of StableDiffusionPipeline, StableDiffusionXLPipeline, .* and their classes for other tasks$/,
    );
  });

  it.each([
    ['Tongyi-MAI/Z-Image-Turbo', 'ZImagePipeline'],
    ['Alpha-VLLM/Lumina-Image-2.0', 'Lumina2Pipeline'],
    ['neta-art/Neta-Lumina', 'Lumina2Pipeline'],
    ['Alpha-VLLM/Lumina-Next-SFT-diffusers', null],
    ['stabilityai/stable-diffusion-xl-base-1.0', 'StableDiffusionXLPipeline'],
    ['stabilityai/sdxl-turbo', 'StableDiffusionXLPipeline'],
    ['stable-diffusion-v1-5/stable-diffusion-v1-5', 'StableDiffusionPipeline'],
    ['stabilityai/sd-turbo', null],
    ['owner/something', null],
  ])('the id %s is of %s', (id, expected) => expect(knownPipelines().classOfModelId(id)).toBe(expected));
});

describe('a pipeline index is refused:', () => {
  const LANGUAGE = {
    'config.json': { architectures: ['Qwen3ForCausalLM'], model_type: 'qwen3' },
    'model.safetensors': '',
  };

  it.each<[string, Files, RegExp]>([
    [
      'a language model',
      LANGUAGE,
      /is a language model \(Qwen3ForCausalLM\), which draws nothing: `openTextModel` opens it$/,
    ],
    ['a language model by type', { 'config.json': { model_type: 'llama' } }, /is a language model \(llama\)/],
    [
      'a text encoder',
      { 'config.json': { architectures: ['CLIPTextModel'] } },
      /is one component \(CLIPTextModel\) of a pipeline/,
    ],
    [
      'a denoiser',
      { 'config.json': { _class_name: 'UNet2DConditionModel' } },
      /is one component \(UNet2DConditionModel\).* `componentPaths`/,
    ],
    ['a LoRA', { 'pytorch_lora_weights.safetensors': '' }, /is a LoRA/],
    [
      'several files',
      { 'v1-5.safetensors': '', 'v2.safetensors': '' },
      /holds 2 files of tensors and no model_index\.json: name one of them, v1-5\.safetensors, v2\.safetensors$/,
    ],
    [
      'GGUF weights of several quantizations',
      { 'model-Q4_0.gguf': '', 'model-Q8_0.gguf': '' },
      /holds 2 GGUF files and no model_index\.json: name one of them, Q4_0 \(model-Q4_0\.gguf\), Q8_0/,
    ],
    ['an empty folder', {}, /has no model_index\.json: give a folder or hub id in the diffusers layout/],
    [
      'a video pipeline',
      { 'model_index.json': { _class_name: 'MochiPipeline' } },
      /is a MochiPipeline, which makes videos, and is not built in: this version runs Stable.*ZImagePipeline.* and their classes for other tasks/,
    ],
    [
      'a pipeline of videos with sound',
      { 'model_index.json': { _class_name: 'LTX2Pipeline' } },
      /is a LTX2Pipeline, which makes videos and their sound, for which this version has no layers, and is not built in: this version runs .*LTXPipeline/,
    ],
    [
      'a pipeline of videos whose parts are not built in',
      { 'model_index.json': { _class_name: 'HunyuanVideoPipeline' } },
      /is a HunyuanVideoPipeline, which makes videos with parts that this version does not have \(.* an autoencoder of its own\): it has those of HunyuanVideo 1\.5, and is not built in: this version runs .*WanPipeline/,
    ],
    [
      'a pipeline not built in',
      { 'model_index.json': { _class_name: 'KolorsPipeline' } },
      /is a KolorsPipeline, which is not built in: this version runs .*ZImagePipeline/,
    ],
    [
      'a class that steers Stable Diffusion',
      { 'model_index.json': { ...INDEX, _class_name: 'StableDiffusionPAGImg2ImgPipeline' } },
      /PAGImg2ImgPipeline, which steers by perturbed attention \(PAG\), and is not built in: .*; `pipelineClassName` StableDiffusionImg2ImgPipeline draws with its components, and without/,
    ],
    [
      'a class of FLUX.2 that keeps keys and values',
      {
        'model_index.json': {
          _class_name: 'Flux2KleinKVPipeline',
          text_encoder: ['transformers', 'Qwen3ForCausalLM'],
          tokenizer: ['transformers', 'Qwen2TokenizerFast'],
          transformer: ['diffusers', 'Flux2Transformer2DModel'],
          vae: ['diffusers', 'AutoencoderKLFlux2'],
          scheduler: ['diffusers', 'FlowMatchEulerDiscreteScheduler'],
        },
      },
      /Flux2KleinKVPipeline, which computes the images that it sees in the first step only, and is not built in: .*; `pipelineClassName` Flux2KleinPipeline draws/,
    ],
    [
      'a class of SDXL that nobody knows',
      {
        'model_index.json': {
          ...INDEX,
          _class_name: 'StableDiffusionXLWonderPipeline',
          text_encoder_2: ['transformers', 'CLIPTextModelWithProjection'],
          tokenizer_2: ['transformers', 'CLIPTokenizer'],
        },
      },
      /WonderPipeline, which is not built in: .*; `pipelineClassName` StableDiffusionXLPipeline draws/,
    ],
    [
      'a class whose UNet takes something else',
      { 'model_index.json': { ...INDEX, _class_name: 'StableDiffusionInstructPix2PixPipeline' } },
      /which edits an image that its UNet is given in channels of its own, and is not built in: .*ZImagePipeline/,
    ],
    [
      'an unconditional pipeline',
      { 'model_index.json': { _class_name: 'DDPMPipeline', unet: ['diffusers', 'UNet2DModel'] } },
      /is a DDPMPipeline, which draws without a text: its UNet has no text encoder, and is not built in/,
    ],
    [
      'a name of JavaScript',
      { 'model_index.json': { ...INDEX, _class_name: 'constructor' } },
      /is a constructor, which is not/,
    ],
    [
      'another',
      { 'model_index.json': { ...INDEX, _class_name: '__proto__' } },
      /is a __proto__, which is not/,
    ],
    [
      'a pipeline of its own',
      { 'model_index.json': { _class_name: ['my_pipeline', 'MyPipeline'] } },
      /defines MyPipeline by Python code in its own repository \(my_pipeline\.py\), which is never run/,
    ],
  ])('%s', async (_, files, message) => {
    const error = await refusal(await folderOf(files));
    expect(error.message).toMatch(message);
    expect(error.code).toBe(
      /no model_index\.json: give/.test(error.message) ? 'bad_checkpoint' : 'unsupported',
    );
  });

  it.each([
    ['x.png', /x\.png is an image, not a model: give a folder or hub id in the diffusers layout/],
    ['x.jpg', /x\.jpg is an image, not a model/],
  ])('the file %s', async (name, message) => {
    const error = await refusal(join(await folderOf({ [name]: '' }), name));
    expect(error).toMatchObject({ code: 'unsupported' });
    expect(error.message).toMatch(message);
  });

  it('a pipeline class that was asked for and has other components', async () => {
    const path = await folderOf(PIPELINE);
    expect(await refusal(path, { pipelineClassName: 'ZImagePipeline' })).toMatchObject({
      code: 'bad_request',
      param: 'pipelineClassName',
      message: `pipelineClassName ZImagePipeline needs a transformer, and model_index.json in ${path} names none: leave it out, or give a model of that class`,
    });
  });

  it('a pipeline class nobody knows', async () => {
    const error = await refusal(await folderOf(PIPELINE), { pipelineClassName: 'KolorsPipeline' });
    expect(error).toMatchObject({ code: 'bad_request', param: 'pipelineClassName' });
    expect(error.message).toContain(`the classes are ${Object.keys(PIPELINE_CLASSES).join(', ')}`);
  });
});
