// Call arguments of diffusers' pipelines, under diffusers' names: what each family takes, checked, and as the run reads them.

import { EngineError } from '../../files/error.ts';
import type { Family } from './families.ts';
import type { ImageRequest } from './image-model.ts';

/** What only diffusers' names reach. */
export interface CallArguments {
  /** Share of fresh noise in DDIM and TCD steps. */
  eta?: number;
  /** LCM: timesteps of its distillation. */
  originalSteps?: number;
  /** Sigmas before the shift, one a step, falling from 1. */
  sigmas?: number[];
  /** Z-Image: longest the guided prediction may become, as a multiple of the conditional one's length; 0: any. */
  cfgNormalization?: number;
  /** Z-Image: guidance ends where the denoised share of the way exceeds this; above 1: never. */
  cfgTruncation?: number;
  /** Z-Image: tokens of a prompt that are read. */
  maxSequenceLength?: number;
  /** SDXL: [height, width] or [top, left] in pixels that the picture is said to have had in training. */
  originalSize?: [number, number];
  cropsTopLeft?: [number, number];
  targetSize?: [number, number];
}

interface Argument {
  wanted: string;
  fits(value: unknown): boolean;
  /** The field it becomes: one of the request's, or one that only diffusers' names reach. */
  into: { request: keyof ImageRequest } | { call: keyof CallArguments };
}

const real = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const whole = (value: unknown): value is number => Number.isInteger(value);
const number = (wanted: string, fits: (value: number) => boolean, into: Argument['into']): Argument => ({
  wanted,
  fits: (value) => real(value) && fits(value),
  into,
});
const integer = (least: number, into: Argument['into']): Argument => ({
  wanted: `an integer of at least ${least}`,
  fits: (value) => whole(value) && value >= least,
  into,
});
const text = (into: Argument['into']): Argument => ({
  wanted: 'a string',
  fits: (value) => typeof value === 'string',
  into,
});
const pair = (into: Argument['into']): Argument => ({
  wanted: 'two integers of at least 0',
  fits: (value) =>
    Array.isArray(value) && value.length === 2 && value.every((item) => whole(item) && item >= 0),
  into,
});

const COMMON: Readonly<Record<string, Argument>> = {
  height: integer(1, { request: 'height' }),
  width: integer(1, { request: 'width' }),
  num_inference_steps: integer(1, { request: 'steps' }),
  guidance_scale: number('a number of at least 0', (value) => value >= 0, { request: 'guidance' }),
  negative_prompt: text({ request: 'negativePrompt' }),
  num_images_per_prompt: integer(1, { request: 'samples' }),
  strength: number('a number above 0 and at most 1', (value) => value > 0 && value <= 1, {
    request: 'strength',
  }),
  sigmas: {
    wanted: 'a list of numbers between 0 and 1',
    fits: (value) =>
      Array.isArray(value) && value.length > 0 && value.every((item) => real(item) && item >= 0 && item <= 1),
    into: { call: 'sigmas' },
  },
};

const CLIP: Readonly<Record<string, Argument>> = {
  ...COMMON,
  guidance_rescale: number('a number from 0 to 1', (value) => value >= 0 && value <= 1, {
    request: 'guidanceRescale',
  }),
  clip_skip: integer(0, { request: 'clipSkip' }),
  eta: number('a number from 0 to 1', (value) => value >= 0 && value <= 1, { call: 'eta' }),
};

const ARGUMENTS: Readonly<Record<Family['name'], Readonly<Record<string, Argument>>>> = {
  'stable-diffusion': CLIP,
  'stable-diffusion-xl': {
    ...CLIP,
    original_size: pair({ call: 'originalSize' }),
    crops_coords_top_left: pair({ call: 'cropsTopLeft' }),
    target_size: pair({ call: 'targetSize' }),
  },
  'z-image': {
    ...COMMON,
    cfg_normalization: {
      wanted: 'true, false or a number of at least 0',
      fits: (value) => typeof value === 'boolean' || (real(value) && value >= 0),
      into: { call: 'cfgNormalization' },
    },
    cfg_truncation: number('a number of at least 0', (value) => value >= 0, { call: 'cfgTruncation' }),
    max_sequence_length: integer(1, { call: 'maxSequenceLength' }),
  },
};

/** What a family's pipelines take. */
export function argumentNames(family: Family): string[] {
  return Object.keys(ARGUMENTS[family.name]);
}

/** Splits call arguments into fields of the request and what the run reads besides. Throws bad_request, by name. */
export function readCallArguments(
  kwargs: Readonly<Record<string, unknown>>,
  family: Family,
): { request: Partial<ImageRequest>; call: CallArguments } {
  const known = ARGUMENTS[family.name];
  const request: Record<string, unknown> = {};
  const call: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(kwargs)) {
    const argument = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!argument) {
      throw new EngineError(
        'bad_request',
        `the ${family.name} pipeline has no call argument ${name}; it takes ${argumentNames(family).join(', ')}`,
        { param: 'generic_kwargs' },
      );
    }
    if (value === null) continue;
    if (!argument.fits(value)) {
      throw new EngineError(
        'bad_request',
        `the call argument ${name} is ${JSON.stringify(value)}, it takes ${argument.wanted}`,
        { param: 'generic_kwargs' },
      );
    }
    const { into } = argument;
    if ('request' in into) request[into.request] = value;
    else call[into.call] = typeof value === 'boolean' ? Number(value) : value;
  }
  return { request, call };
}
