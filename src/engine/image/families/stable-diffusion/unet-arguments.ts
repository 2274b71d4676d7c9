// Call arguments of the Stable Diffusion pipelines, 1 to XL.

import {
  COMMON,
  CROP,
  ETA,
  integer,
  isReal,
  list,
  NEGATIVE,
  number,
  oneOrList,
  pair,
  RESCALE,
  SIZE,
  STRENGTH,
  text,
  TIMESTEPS,
  type CallArguments,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import type { CalledModel, PipelineTask } from '../../blocks/family.ts';

/** Call arguments that the UNet models read; those that are not shared are SDXL's. */
export interface UNetArguments extends CallArguments {
  /** [height, width] or [top, left] in pixels: the size and crop that SDXL is told the image had in training. */
  originalSize?: [number, number];
  cropsTopLeft?: [number, number];
  targetSize?: [number, number];
  /** Sizes and crop for the negative prompt. */
  negativeOriginalSize?: [number, number];
  negativeCropsTopLeft?: [number, number];
  negativeTargetSize?: [number, number];
  /** Prompt of the second text encoder; left out or empty: the first one's. */
  prompt2?: string;
  negativePrompt2?: string;
  /** Refiner: the aesthetic score that the model is told the image has, and the one for the negative prompt. */
  aestheticScore?: number;
  negativeAestheticScore?: number;
}

const into = (field: keyof UNetArguments) => ({ call: field });

const isShare = (value: number): boolean => value >= 0 && value <= 1;

const CLIP: CallArgumentTable = {
  ...COMMON,
  clip_skip: integer(0, { request: 'clipSkip' }),
  ...TIMESTEPS,
};
const SD: CallArgumentTable = {
  ...CLIP,
  ...NEGATIVE,
  sigmas: list('numbers of at least 0', (item) => item >= 0, into('sigmas')),
  ...ETA,
};
const LCM: CallArgumentTable = { ...CLIP, original_inference_steps: integer(1, into('originalSteps')) };
const XL: CallArgumentTable = {
  ...SD,
  ...RESCALE,
  original_size: pair(into('originalSize')),
  crops_coords_top_left: pair(into('cropsTopLeft')),
  target_size: pair(into('targetSize')),
  negative_original_size: pair(into('negativeOriginalSize')),
  negative_crops_coords_top_left: pair(into('negativeCropsTopLeft')),
  negative_target_size: pair(into('negativeTargetSize')),
};
/** Arguments of models with two text encoders. */
const SECOND: CallArgumentTable = {
  prompt_2: text(into('prompt2')),
  negative_prompt_2: text(into('negativePrompt2')),
};
const END: CallArgumentTable = {
  denoising_end: number(
    'a number above 0 and at most 1',
    (value) => value > 0 && value <= 1,
    into('denoisingEnd'),
  ),
};
const PART: CallArgumentTable = {
  denoising_start: number(
    'a number between 0 and 1',
    (value) => value > 0 && value < 1,
    into('denoisingStart'),
  ),
  ...END,
};
const REFINER: CallArgumentTable = {
  aesthetic_score: number('a number', isReal, into('aestheticScore')),
  negative_aesthetic_score: number('a number', isReal, into('negativeAestheticScore')),
};

const SD_TASKS: Readonly<Record<PipelineTask, CallArgumentTable>> = {
  'text-to-image': { ...SD, ...SIZE, ...RESCALE },
  'image-to-image': { ...SD, ...STRENGTH },
  inpainting: { ...SD, ...SIZE, ...STRENGTH, ...CROP },
};
const XL_TASKS: Readonly<Record<PipelineTask, CallArgumentTable>> = {
  'text-to-image': { ...XL, ...SIZE, ...END },
  'image-to-image': { ...XL, ...STRENGTH, ...PART },
  inpainting: { ...XL, ...SIZE, ...STRENGTH, ...PART, ...CROP },
};

/** Arguments of classes with ControlNets: a number for all of them, or one for each. */
const CONTROL: CallArgumentTable = {
  controlnet_conditioning_scale: oneOrList('numbers', isReal, { request: 'controlScale' }),
  control_guidance_start: oneOrList('numbers from 0 to 1', isShare, { request: 'controlStart' }),
  control_guidance_end: oneOrList('numbers from 0 to 1', isShare, { request: 'controlEnd' }),
  guess_mode: {
    wanted: 'false: the prompt is followed',
    fits: (value) => value === false,
    into: null,
  },
};

export const sdArguments = (task: PipelineTask): CallArgumentTable => SD_TASKS[task];

export const controlArguments = (task: PipelineTask): CallArgumentTable => ({
  ...SD_TASKS[task],
  ...SIZE,
  ...CONTROL,
});

export const lcmArguments = (task: PipelineTask): CallArgumentTable =>
  task === 'text-to-image' ? { ...LCM, ...SIZE } : { ...LCM, ...STRENGTH };

export function xlArguments(task: PipelineTask, { components, settings }: CalledModel): CallArgumentTable {
  const encoders = ['text_encoder', 'text_encoder_2'].filter((name) => components.includes(name));
  return {
    ...XL_TASKS[task],
    ...(encoders.length === 2 ? SECOND : unavailableSecond()),
    ...(settings['requires_aesthetics_score'] === true ? REFINER : {}),
  };
}

/** The image-to-image class takes no part of the way to an image. */
export function xlControlArguments(task: PipelineTask, model: CalledModel): CallArgumentTable {
  const { denoising_start: start, denoising_end: end, ...others } = xlArguments(task, model);
  const part = { ...(start && { denoising_start: start }), ...(end && { denoising_end: end }) };
  return { ...others, ...(task === 'image-to-image' ? {} : part), ...SIZE, ...CONTROL };
}

function unavailableSecond(): CallArgumentTable {
  const unavailable = 'is for the second of two text encoders, and this model has one: leave it out';
  return Object.fromEntries(
    Object.entries(SECOND).map(([name, argument]) => [name, { ...argument, unavailable }]),
  );
}
