// Defaults that the files of a model and its name imply.

import { describe, expect, it } from 'vitest';
import { defaultsOf } from '../../../../src/engine/image/families/defaults.ts';
import {
  isKnownName,
  knownPipelines,
  pipelineEntry,
} from '../../../../src/engine/image/families/registry.ts';
import { textOf } from '../../../../src/files/message.ts';

const CLASSES = {
  'stable-diffusion': 'StableDiffusionPipeline',
  'stable-diffusion-xl': 'StableDiffusionXLPipeline',
  'z-image': 'ZImagePipeline',
  chroma: 'ChromaPipeline',
  flux2: 'Flux2Pipeline',
  'flux2-klein': 'Flux2KleinPipeline',
  'qwen-image': 'QwenImagePipeline',
  'qwen-image-edit': 'QwenImageEditPlusPipeline',
};
const XL = pipelineEntry(CLASSES['stable-diffusion-xl']);

describe('defaults of Wan by its files', () => {
  const wan = pipelineEntry('WanPipeline');
  const large = { width: 1280, height: 720, steps: 50, guidance: 5, frames: 81, fps: 16 };
  it.each([
    ['Wan2.1-T2V-1.3B', { num_layers: 30 }, {}, { ...large, width: 832, height: 480, guidance: 3 }],
    ['Wan2.1-T2V-14B', { num_layers: 40 }, {}, large],
    ['Wan2.1-I2V-14B-480P', { in_channels: 36 }, {}, { ...large, width: 832, height: 480 }],
    ['Wan2.2-T2V-A14B', {}, { boundary_ratio: 0.875 }, { ...large, steps: 40, guidance: 4 }],
    ['Wan2.2-I2V-A14B', { in_channels: 36 }, { boundary_ratio: 0.9 }, { ...large, steps: 40, guidance: 3.5 }],
    [
      'Wan2.2-TI2V-5B',
      { in_channels: 48, out_channels: 48, num_layers: 30 },
      { boundary_ratio: null, expand_timesteps: true },
      { ...large, height: 704, frames: 121, fps: 24 },
    ],
  ])('%s', (name, config, settings, defaults) => {
    const components = { transformer: { className: 'WanTransformer3DModel', config } };
    expect(defaultsOf(wan, components, name, settings).defaults).toEqual(defaults);
  });
});

describe('defaults of LTX-Video by its name', () => {
  const usual = { width: 704, height: 512, frames: 161, fps: 25, steps: 50, guidance: 3 };
  it.each([
    ['Lightricks/LTX-Video', 'LTXPipeline', usual],
    ['ltx-video-2b-v0.9', 'LTXPipeline', usual],
    ['Lightricks/LTX-Video-0.9.5', 'LTXConditionPipeline', usual],
    ['ltxv-13b-0.9.7-distilled', 'LTXConditionPipeline', { ...usual, steps: 8, guidance: 1 }],
  ])('%s', (name, className, defaults) => {
    expect(knownPipelines().classOfModelId(name)).toBe(className);
    expect(defaultsOf(pipelineEntry(className), {}, name).defaults).toEqual(defaults);
  });
});

describe('defaults by the name of a model', () => {
  it.each([
    ['stabilityai/sdxl-turbo', 'stable-diffusion-xl', { steps: 1, guidance: 0, size: 512 }],
    ['stabilityai/sd-turbo', 'stable-diffusion', { steps: 1, guidance: 0, size: 512 }],
    ['Tongyi-MAI/Z-Image-Turbo', 'z-image', { steps: 8, guidance: 0, size: 1024 }],
    ['Tongyi-MAI/Z-Image', 'z-image', { steps: 50, guidance: 5, size: 1024 }],
    ['Qwen/Qwen-Image-2512', 'qwen-image', { steps: 50, guidance: 4, size: 1024 }],
    ['someone/Qwen-Image-Lightning', 'qwen-image', { steps: 8, guidance: 1, size: 1024 }],
    [
      'someone/Qwen-Image-Edit-2511-Lightning-4steps',
      'qwen-image-edit',
      { steps: 4, guidance: 1, size: 1024 },
    ],
    ['black-forest-labs/FLUX.2-dev', 'flux2', { steps: 50, guidance: 4, size: 1024 }],
    ['black-forest-labs/FLUX.2-klein-4B', 'flux2-klein', { steps: 4, guidance: 1, size: 1024 }],
    ['black-forest-labs/FLUX.2-klein-base-9B', 'flux2-klein', { steps: 50, guidance: 4, size: 1024 }],
    ['lodestones/Chroma1-HD', 'chroma', { steps: 35, guidance: 5, size: 1024 }],
    ['ByteDance/Hyper-SD', 'stable-diffusion', { steps: 4, guidance: 0 }],
    ['someone/hyperrealism-v3', 'stable-diffusion', {}],
    ['someone/sdxl-turbo', 'z-image', { steps: 50, guidance: 5, size: 1024 }],
    ['stabilityai/stable-diffusion-xl-base-1.0', 'stable-diffusion-xl', { guidance: 5 }],
  ] as const)('%s', (name, family, defaults) => {
    expect(defaultsOf(pipelineEntry(CLASSES[family]), {}, name).defaults).toEqual(defaults);
  });

  it.each([
    [true, 4],
    [false, 50],
  ])(
    'model_index.json with is_distilled %s implies %i steps, whatever the name says',
    (isDistilled, steps) => {
      const entry = pipelineEntry('Flux2KleinPipeline');
      const settings = { is_distilled: isDistilled };
      const { defaults, defaultsFrom } = defaultsOf(entry, {}, 'a/klein-base', settings);
      expect(defaults.steps).toBe(steps);
      expect(defaultsFrom).toBe('is_distilled of its pipeline');
    },
  );

  it('have the same form as those by its class', () => {
    const lcm = defaultsOf(pipelineEntry('LatentConsistencyModelImg2ImgPipeline'), {}, 'a/b');
    expect(lcm).toEqual({
      defaults: { steps: 4, guidance: 8.5 },
      defaultsFrom: 'the class LatentConsistencyModelImg2ImgPipeline',
    });
  });

  it.each([
    ['Tongyi-MAI/Z-Image', true],
    ['stabilityai/sd-turbo', true],
    ['Qwen/Qwen-Image-Edit-2511', true],
    ['black-forest-labs/FLUX.2-dev', true],
    ['nonsense/x', false],
  ])('are known for %s: %s', (name, telling) => expect(isKnownName(name)).toBe(telling));
});

describe('defaults by the components of a model', () => {
  const unet = (config: object) => ({ className: 'UNet2DConditionModel', config: { ...config } });
  const scheduler = (className: string, config: object = {}) => ({ className, config: { ...config } });
  const euler = 'EulerDiscreteScheduler';
  const trailing = { timestep_spacing: 'trailing' };
  const turbo = scheduler('EulerAncestralDiscreteScheduler', { ...trailing, prediction_type: 'epsilon' });
  const small = unet({ sample_size: 64, cross_attention_dim: 2048 });
  const usual = unet({ sample_size: 128, cross_attention_dim: 2048 });
  const guided = unet({ time_cond_proj_dim: 256 });
  const lcm = scheduler('LCMScheduler');

  it.each([
    ['a UNet that embeds the guidance', { unet: guided, scheduler: lcm }, { steps: 4, guidance: 8.5 }],
    [
      "LCM's schedule",
      { unet: unet({ time_cond_proj_dim: null }), scheduler: lcm },
      { steps: 4, guidance: 1 },
    ],
    ["TCD's schedule", { scheduler: scheduler('TCDScheduler') }, { steps: 4, guidance: 0 }],
    [
      "trailing steps that predict noise in Turbo's UNet",
      { unet: small, scheduler: turbo },
      { steps: 4, guidance: 0 },
    ],
    ['the same in an ordinary one', { unet: usual, scheduler: scheduler(euler, trailing) }, { guidance: 5 }],
    ['Playground v2.5', { scheduler: scheduler('EDMDPMSolverMultistepScheduler') }, { guidance: 3 }],
    [
      'trailing steps that predict velocity',
      { unet: small, scheduler: scheduler(euler, { ...trailing, prediction_type: 'v_prediction' }) },
      { guidance: 5 },
    ],
    [
      'trailing steps to zero signal',
      { scheduler: scheduler(euler, { ...trailing, rescale_betas_zero_snr: true }) },
      { guidance: 5 },
    ],
    ['leading steps', { scheduler: scheduler(euler, { timestep_spacing: 'leading' }) }, { guidance: 5 }],
  ])('%s', (_, components, defaults) => {
    expect(defaultsOf(XL, { ...components }, 'a/b').defaults).toEqual(defaults);
  });

  it('give way to those by its name where the number of steps is open', () => {
    const of = (components: object) => defaultsOf(XL, { ...components }, 'a/sdxl-turbo').defaults;
    expect(of({ unet: small, scheduler: turbo })).toEqual({ steps: 1, guidance: 0, size: 512 });
    expect(of({ scheduler: lcm })).toEqual({ steps: 4, guidance: 1 });
  });

  it('state their source, or leave the value to the user', () => {
    const told = (name: string, components: object = {}) => {
      const { defaultsFrom, hint } = defaultsOf(XL, { ...components }, name);
      return { defaultsFrom, ...(hint !== undefined && { hint: textOf(hint) }) };
    };
    expect(told('a/b')).toEqual({});
    expect(told('a/my-Lightning-mix').defaultsFrom).toBe('"Lightning" in its name');
    expect(told('a/b', { scheduler: lcm }).defaultsFrom).toBe('its LCMScheduler');
    expect(told('a/b', { unet: small, scheduler: turbo }).defaultsFrom).toMatch(
      /^trailing timesteps that predict noise, and/,
    );
    const unsure = { unet: usual, scheduler: scheduler(euler, trailing) };
    expect(told('a/b', unsure).hint).toContain('give `steps` 4 and `guidance` 0, or `modelId` lightning');
    expect(told('a/lightning', unsure)).toEqual({ defaultsFrom: '"lightning" in its name' });
  });
});
