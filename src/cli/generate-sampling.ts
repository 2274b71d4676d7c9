// Options of `svc generate` that say how a picture is drawn, and from which other one.

import { DEFAULTS, LIMITS } from '../index.ts';
import type { OptionTable } from './option.ts';

const SAMPLING = 'Sampling';
const INPUT = 'Starting from a picture';

export const SAMPLING_OPTIONS = {
  'negative-prompt': {
    kind: 'string',
    elsewhere: ['negative', 'neg-prompt'],
    group: SAMPLING,
    mayBeEmpty: true,
    help: 'What not to draw.',
    otherwise: "the model's own, or empty",
  },
  'num-inference-steps': {
    kind: 'integer',
    min: 1,
    max: LIMITS.steps,
    elsewhere: ['steps', 'sampling-steps', 'sample-steps', 'ddim-steps', 'num-steps', 'n-steps'],
    group: SAMPLING,
    help: 'Denoising steps; more take longer and are usually better.',
    otherwise: `${DEFAULTS.steps}, or the model's own`,
  },
  'guidance-scale': {
    kind: 'number',
    min: 0,
    max: LIMITS.guidance,
    elsewhere: ['cfg-scale', 'cfg', 'guidance', 'scale'],
    group: SAMPLING,
    help: 'Classifier-free guidance; higher follows the prompt more closely.',
    otherwise: `${DEFAULTS.guidance}, or the model's own`,
  },
  height: {
    kind: 'integer',
    min: 8,
    max: LIMITS.side,
    elsewhere: ['H'],
    group: SAMPLING,
    help: 'Pixels.',
    otherwise: "the model's own",
  },
  width: {
    kind: 'integer',
    min: 8,
    max: LIMITS.side,
    elsewhere: ['W', 'size', 'resolution'],
    group: SAMPLING,
    help: 'Pixels.',
    otherwise: "the model's own",
  },
  seed: {
    kind: 'integers',
    min: 0,
    max: Number.MAX_SAFE_INTEGER - LIMITS.samples,
    group: SAMPLING,
    help: 'The same seed draws the same picture; sample i uses seed + i, or entry i of a list.',
    elsewhere: ['s', 'manual-seed', 'noise-seed'],
    instead: 'leave it out for one that is drawn at random',
    otherwise: 'drawn at random, and printed',
  },
  'num-samples': {
    kind: 'integer',
    min: 1,
    max: LIMITS.samples,
    elsewhere: ['n', 'b', 'batch-size', 'batch-count', 'n-iter', 'num-images', 'num-images-per-prompt'],
    group: SAMPLING,
    aliases: ['num-outputs-per-prompt'],
    help: 'Pictures of each prompt.',
    otherwise: '1',
  },
  scheduler: {
    kind: 'string',
    elsewhere: ['sampler', 'sampler-name', 'sampling-method', 'sample-method'],
    group: SAMPLING,
    value: 'name',
    help: 'Noise schedule, as euler-karras, dpm++2m or DDIMScheduler, or as other programs spell it (dpmpp_2m, Euler a); a name that is none lists them.',
    otherwise: "the model's own",
  },
  'generator-device': {
    kind: 'choice',
    choices: ['cpu', 'cuda'],
    group: SAMPLING,
    help: "Whose random stream makes the noise: torch's generator of the CPU or of CUDA, the same on any GPU.",
    otherwise: 'cpu',
  },
  'clip-skip': {
    kind: 'integer',
    min: 0,
    group: SAMPLING,
    help: 'Layers left out at the end of a CLIP text encoder, as diffusers counts: what other programs call clip skip 2 is 1.',
    elsewhere: ['clip-stop-at-last-layers'],
    otherwise: '0',
  },
  'guidance-rescale': {
    kind: 'number',
    min: 0,
    max: 1,
    group: SAMPLING,
    help: "How far a guided prediction keeps the conditional one's spread.",
    otherwise: '0',
  },
} as const satisfies OptionTable;

export const INPUT_OPTIONS = {
  'image-path': {
    kind: 'string',
    isInput: true,
    digestKey: 'image_sha256',
    isOne: true,
    elsewhere: ['image', 'init-image', 'init-img', 'input-image', 'i'],
    group: INPUT,
    value: 'file',
    help: 'PNG, JPEG or WebP to start from.',
  },
  strength: {
    kind: 'number',
    elsewhere: ['denoise', 'denoising-strength'],
    above: 0,
    max: 1,
    group: INPUT,
    help: 'Share of the steps taken from it: higher keeps less.',
    otherwise: '0.8, with a mask 1',
  },
  'mask-path': {
    kind: 'string',
    isInput: true,
    digestKey: 'mask_sha256',
    isOne: true,
    elsewhere: ['mask', 'mask-image'],
    group: INPUT,
    value: 'file',
    help: 'Picture of the same proportions; its white parts are drawn anew.',
  },
} as const satisfies OptionTable;
