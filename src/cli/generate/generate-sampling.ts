// Options of `svc generate` for sampling, and for the images that it starts from and is steered by.

import { IMAGE_SAMPLING } from '../../options/image-request.ts';
import { LIMITS } from '../../options/limits.ts';
import type { OptionTable } from '../options/option.ts';
import { optionsOf } from '../options/setting-options.ts';

const SAMPLING = 'Sampling';
const INPUT = 'Starting from an image';
const CONTROL = 'Steering by an image';

const { 'vae-tiling': _tiling, ...sampling } = optionsOf(IMAGE_SAMPLING);

export const SAMPLING_OPTIONS = {
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
  'image-path': {
    kind: 'texts',
    isInput: true,
    digestKey: 'image_sha256',
    elsewhere: ['image', 'init-image', 'init-img', 'input-image', 'i'],
    group: INPUT,
    value: 'file',
    help: 'PNG, JPEG, WebP or BMP to start from, or to edit; repeated for models that edit several.',
  },
  'last-image-path': {
    kind: 'string',
    isInput: true,
    digestKey: 'last_image_sha256',
    isOne: true,
    elsewhere: ['last-image', 'end-image', 'end-image-path'],
    group: INPUT,
    value: 'file',
    help: 'PNG, JPEG, WebP or BMP with which a clip ends that starts from --image-path, in models that take both.',
  },
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
  'control-image': {
    kind: 'texts',
    isInput: true,
    digestKey: 'control_image_sha256',
    elsewhere: ['controlnet-image', 'control-image-path'],
    group: CONTROL,
    value: 'file',
    help: 'PNG, JPEG, WebP or BMP that a ControlNet, or a model made for control images, sees, scaled to the size that is drawn; repeated for several ControlNets.',
  },
  'ip-adapter-image': {
    kind: 'string',
    isInput: true,
    digestKey: 'ip_adapter_image_sha256',
    isOne: true,
    group: CONTROL,
    value: 'file',
    help: 'PNG, JPEG, WebP or BMP that an IP-Adapter shows to the denoiser beside the text; its middle is taken.',
  },
  ...sampling,
} as const satisfies OptionTable;
