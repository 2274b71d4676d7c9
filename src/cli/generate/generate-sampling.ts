// Options of `svc generate` for sampling, and for the input image and mask.

import { IMAGE_SAMPLING } from '../../options/image-request.ts';
import { LIMITS } from '../../options/limits.ts';
import type { OptionTable } from '../options/option.ts';
import { optionsOf } from '../options/setting-options.ts';

const SAMPLING = 'Sampling';
const INPUT = 'Starting from an image';
const CONTROL = 'Steering by an image';

const {
  'num-samples': samples,
  strength,
  'vae-tiling': _tiling,
  'control-scale': controlScale,
  'control-start': controlStart,
  'control-end': controlEnd,
  'ip-adapter-scale': ipAdapterScale,
  ...drawing
} = optionsOf(IMAGE_SAMPLING);
const {
  'negative-prompt': negativePrompt,
  'num-inference-steps': steps,
  'guidance-scale': guidance,
  height,
  width,
  ...others
} = drawing;

export const SAMPLING_OPTIONS = {
  'negative-prompt': negativePrompt,
  'num-inference-steps': steps,
  'guidance-scale': guidance,
  height,
  width,
  seed: {
    kind: 'integers',
    min: 0,
    max: Number.MAX_SAFE_INTEGER - LIMITS.samples,
    group: SAMPLING,
    help: 'The same seed draws the same image; sample i uses seed + i, or entry i of a list.',
    elsewhere: ['s', 'manual-seed', 'noise-seed'],
    instead: 'leave it out for one that is drawn at random',
    otherwise: 'drawn at random, and printed',
  },
  'num-samples': samples,
  ...others,
} as const satisfies OptionTable;

export const INPUT_OPTIONS = {
  'image-path': {
    kind: 'texts',
    isInput: true,
    digestKey: 'image_sha256',
    elsewhere: ['image', 'init-image', 'init-img', 'input-image', 'i'],
    group: INPUT,
    value: 'file',
    help: 'PNG, JPEG, WebP or BMP to start from, or to edit; repeated for models that edit several.',
  },
  strength,
  'mask-path': {
    kind: 'string',
    isInput: true,
    digestKey: 'mask_sha256',
    isOne: true,
    elsewhere: ['mask', 'mask-image'],
    group: INPUT,
    value: 'file',
    help: 'Image of the same proportions; its white parts are drawn anew.',
  },
} as const satisfies OptionTable;

export const CONTROL_OPTIONS = {
  'control-image': {
    kind: 'texts',
    isInput: true,
    digestKey: 'control_image_sha256',
    elsewhere: ['controlnet-image', 'control-image-path'],
    group: CONTROL,
    value: 'file',
    help: 'PNG, JPEG, WebP or BMP that a ControlNet, or a model made for control images, sees, scaled to the size that is drawn; repeated for several ControlNets.',
  },
  'control-scale': controlScale,
  'control-start': controlStart,
  'control-end': controlEnd,
  'ip-adapter-image': {
    kind: 'string',
    isInput: true,
    digestKey: 'ip_adapter_image_sha256',
    isOne: true,
    group: CONTROL,
    value: 'file',
    help: 'PNG, JPEG, WebP or BMP that an IP-Adapter shows to the denoiser beside the text; its middle is taken.',
  },
  'ip-adapter-scale': ipAdapterScale,
} as const satisfies OptionTable;
