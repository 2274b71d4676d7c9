// Call arguments of diffusers' pipelines, under diffusers' names: what each class takes, checked, and as the run reads them.

import { EngineError } from '../../files/error.ts';
import { LIMITS } from '../../options/limits.ts';
import type { ImageRequest } from './image-model.ts';

/** What only diffusers' names reach. */
export interface CallArguments {
  /** Share of fresh noise in DDIM and TCD steps; left out: 0. */
  eta?: number;
  /** LCM: timesteps of its distillation. */
  originalSteps?: number;
  /** Trained timesteps in place of the schedule's own, one a step, falling. */
  timesteps?: number[];
  /** Sigmas in place of the schedule's own: Euler's with the one it ends at, Z-Image's before the shift, falling from 1. */
  sigmas?: number[];
  /** Z-Image: longest the guided prediction may become, as a multiple of the conditional one's length; 0: any. */
  cfgNormalization?: number;
  /** Z-Image: guidance ends where the denoised share of the way exceeds this; above 1: never. */
  cfgTruncation?: number;
  /** SDXL: [height, width] or [top, left] in pixels that the image is said to have had in training. */
  originalSize?: [number, number];
  cropsTopLeft?: [number, number];
  targetSize?: [number, number];
  /** The same of what is not wanted. */
  negativeOriginalSize?: [number, number];
  negativeCropsTopLeft?: [number, number];
  negativeTargetSize?: [number, number];
  /** Inpainting: only what lies within so many pixels around the mask is drawn, and laid back into the image. */
  maskPadding?: number;
  /** SDXL: from this share of the way to an image on, and to this one, the latents are denoised. */
  denoisingStart?: number;
  denoisingEnd?: number;
  /** SDXL: what the second text encoder reads; left out or empty: the same as the first. */
  prompt2?: string;
  negativePrompt2?: string;
  /** SDXL's refiner: how beautiful the image is said to have been, and what is not wanted. */
  aestheticScore?: number;
  negativeAestheticScore?: number;
}

interface Argument {
  wanted: string;
  fits(value: unknown): boolean;
  /** The field it becomes: one of the request's, or one that only diffusers' names reach; null: it asks for what is done. */
  into: { request: keyof ImageRequest } | { call: keyof CallArguments } | null;
}

type Arguments = Readonly<Record<string, Argument>>;

/** Largest magnitude of any number, so that what is computed from it stays finite. */
const MOST = 1e6;
/** Most entries of a list: one a step, and the sigma that the last one ends at. */
const MOST_ENTRIES = LIMITS.steps + 1;

const real = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) <= MOST;
const whole = (value: unknown): value is number => real(value) && Number.isInteger(value);
const number = (wanted: string, fits: (value: number) => boolean, into: Argument['into']): Argument => ({
  wanted,
  fits: (value) => real(value) && fits(value),
  into,
});
const integer = (least: number, into: Argument['into']): Argument => ({
  wanted: `an integer from ${least} to ${MOST}`,
  fits: (value) => whole(value) && value >= least,
  into,
});
const text = (into: Argument['into']): Argument => ({
  wanted: 'a string',
  fits: (value) => typeof value === 'string',
  into,
});
const list = (wanted: string, fits: (value: number) => boolean, call: 'timesteps' | 'sigmas'): Argument => ({
  wanted: `a list of at most ${MOST_ENTRIES} ${wanted}`,
  fits: (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= MOST_ENTRIES &&
    value.every((item) => real(item) && fits(item)),
  into: { call },
});
const pair = (into: Argument['into']): Argument => ({
  wanted: `two integers from 0 to ${MOST}`,
  fits: (value) =>
    Array.isArray(value) && value.length === 2 && value.every((item) => whole(item) && item >= 0),
  into,
});

const COMMON: Arguments = {
  num_inference_steps: integer(1, { request: 'steps' }),
  guidance_scale: number('a number of at least 0', (value) => value >= 0, { request: 'guidance' }),
  num_images_per_prompt: integer(1, { request: 'samples' }),
  output_type: { wanted: '"pil", an image', fits: (value) => value === 'pil', into: null },
};
const SIZE: Arguments = {
  height: integer(1, { request: 'height' }),
  width: integer(1, { request: 'width' }),
};
const NEGATIVE: Arguments = { negative_prompt: text({ request: 'negativePrompt' }) };
const STRENGTH: Arguments = {
  strength: number('a number above 0 and at most 1', (value) => value > 0 && value <= 1, {
    request: 'strength',
  }),
};

/** Of pipelines that can draw what lies around a mask alone. */
const CROP: Arguments = { padding_mask_crop: integer(0, { call: 'maskPadding' }) };

const CLIP: Arguments = {
  ...COMMON,
  clip_skip: integer(0, { request: 'clipSkip' }),
  timesteps: list('integers of at least 0', (item) => whole(item) && item >= 0, 'timesteps'),
};
const RESCALE: Arguments = {
  guidance_rescale: number('a number from 0 to 1', (value) => value >= 0 && value <= 1, {
    request: 'guidanceRescale',
  }),
};
const SD: Arguments = {
  ...CLIP,
  ...NEGATIVE,
  sigmas: list('numbers of at least 0', (item) => item >= 0, 'sigmas'),
  eta: number('a number from 0 to 1', (value) => value >= 0 && value <= 1, { call: 'eta' }),
};
const LCM: Arguments = { ...CLIP, original_inference_steps: integer(1, { call: 'originalSteps' }) };
const XL: Arguments = {
  ...SD,
  ...RESCALE,
  original_size: pair({ call: 'originalSize' }),
  crops_coords_top_left: pair({ call: 'cropsTopLeft' }),
  target_size: pair({ call: 'targetSize' }),
  negative_original_size: pair({ call: 'negativeOriginalSize' }),
  negative_crops_coords_top_left: pair({ call: 'negativeCropsTopLeft' }),
  negative_target_size: pair({ call: 'negativeTargetSize' }),
};
/** Of models with two text encoders. */
const SECOND: Arguments = {
  prompt_2: text({ call: 'prompt2' }),
  negative_prompt_2: text({ call: 'negativePrompt2' }),
};
const END: Arguments = {
  denoising_end: number('a number above 0 and at most 1', (value) => value > 0 && value <= 1, {
    call: 'denoisingEnd',
  }),
};
const PART: Arguments = {
  denoising_start: number('a number between 0 and 1', (value) => value > 0 && value < 1, {
    call: 'denoisingStart',
  }),
  ...END,
};
const REFINER: Arguments = {
  aesthetic_score: number('a number', real, { call: 'aestheticScore' }),
  negative_aesthetic_score: number('a number', real, { call: 'negativeAestheticScore' }),
};
const Z_IMAGE: Arguments = {
  ...COMMON,
  ...SIZE,
  ...NEGATIVE,
  sigmas: list('numbers between 0 and 1', (item) => item >= 0 && item <= 1, 'sigmas'),
  cfg_normalization: {
    wanted: 'true, false or a number of at least 0',
    fits: (value) => typeof value === 'boolean' || (real(value) && value >= 0),
    into: { call: 'cfgNormalization' },
  },
  cfg_truncation: number('a number of at least 0', (value) => value >= 0, { call: 'cfgTruncation' }),
  max_sequence_length: integer(1, { request: 'maxSequenceLength' }),
};

const ARGUMENTS: Readonly<Record<string, Arguments>> = {
  StableDiffusionPipeline: { ...SD, ...SIZE, ...RESCALE },
  StableDiffusionImg2ImgPipeline: { ...SD, ...STRENGTH },
  StableDiffusionInpaintPipeline: { ...SD, ...SIZE, ...STRENGTH, ...CROP },
  LatentConsistencyModelPipeline: { ...LCM, ...SIZE },
  LatentConsistencyModelImg2ImgPipeline: { ...LCM, ...STRENGTH },
  StableDiffusionXLPipeline: { ...XL, ...SIZE, ...END },
  StableDiffusionXLImg2ImgPipeline: { ...XL, ...STRENGTH, ...PART },
  StableDiffusionXLInpaintPipeline: { ...XL, ...SIZE, ...STRENGTH, ...PART, ...CROP },
  ZImagePipeline: Z_IMAGE,
  ZImageImg2ImgPipeline: { ...Z_IMAGE, ...STRENGTH },
  ZImageInpaintPipeline: { ...Z_IMAGE, ...STRENGTH },
};

/** What these classes take in diffusers and not here. */
const UNBUILT: Readonly<Record<string, string>> = {
  ...notBuilt('give it beside the call arguments', ['prompt', 'image', 'mask_image', 'generator']),
  ...notBuilt('leave it out', [
    'masked_image_latents',
    'latents',
    'prompt_embeds',
    'negative_prompt_embeds',
    'pooled_prompt_embeds',
    'negative_pooled_prompt_embeds',
    'ip_adapter_image',
    'ip_adapter_image_embeds',
    'cross_attention_kwargs',
    'joint_attention_kwargs',
    'return_dict',
    'callback_on_step_end',
    'callback_on_step_end_tensor_inputs',
  ]),
};

function notBuilt(remedy: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, remedy]));
}

export interface Call {
  /** The pipeline's class. */
  className: string;
  /** It is SDXL's refiner. */
  refines: boolean;
  /** It has two text encoders. */
  readsTwice: boolean;
  /** Whether an image to start from is given, and a mask. */
  image: boolean;
  mask: boolean;
}

/** The class that diffusers has for such a request: another of the same models, where an image or a mask is given. */
function classOf({ className, image, mask }: Call): string {
  const models = className.replace(/(Img2Img|Inpaint)?Pipeline$/, '');
  const wanted = mask ? ['Inpaint', 'Img2Img'] : image ? ['Img2Img'] : [];
  const known = (name: string): boolean => Object.hasOwn(ARGUMENTS, name);
  return wanted.map((kind) => `${models}${kind}Pipeline`).find(known) ?? className;
}

/** Splits call arguments into fields of the request and what the run reads besides. Throws bad_request, by name. */
export function readCallArguments(
  kwargs: Readonly<Record<string, unknown>>,
  made: Call,
): { request: Partial<ImageRequest>; call: CallArguments } {
  const className = classOf(made);
  const known = new Map(
    Object.entries({
      ...ARGUMENTS[className],
      ...(made.readsTwice ? SECOND : {}),
      ...(made.refines ? REFINER : {}),
    }),
  );
  const request: Record<string, unknown> = {};
  const call: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(kwargs)) {
    // Null is diffusers' default of them all.
    if (value === null && (known.has(name) || Object.hasOwn(UNBUILT, name))) continue;
    const argument = known.get(name);
    if (!argument) throw unknownArgument(name, className, [...known.keys()]);
    if (!argument.fits(value)) {
      throw refusal(`the call argument ${name} is ${JSON.stringify(value)}, it takes ${argument.wanted}`);
    }
    const { into } = argument;
    if (into === null) continue;
    if ('request' in into) request[into.request] = value;
    else call[into.call] = typeof value === 'boolean' ? Number(value) : value;
  }
  if (call['timesteps'] && call['sigmas'])
    throw refusal('the call arguments timesteps and sigmas each say which steps are taken: give one of them');
  const { denoisingStart: start, denoisingEnd: end } = call as CallArguments;
  if (start !== undefined && end !== undefined && start >= end) {
    throw refusal(
      `the call argument denoising_start is ${start}, and denoising_end ${end}: the start comes before the end`,
    );
  }
  return { request, call };
}

function unknownArgument(name: string, className: string, known: readonly string[]): EngineError {
  if (Object.hasOwn(SECOND, name) && className.startsWith('StableDiffusionXL')) {
    return refusal(
      `the call argument ${name} is for the second of two text encoders, and this model has one: leave it out`,
    );
  }
  const remedy = Object.hasOwn(UNBUILT, name) ? UNBUILT[name] : undefined;
  const takes = `takes ${known.join(', ')}`;
  return refusal(
    remedy === undefined
      ? `${className} has no call argument ${name}; it ${takes}`
      : `the call argument ${name} of diffusers' pipelines is not built: ${remedy}; ${className} ${takes}`,
  );
}

function refusal(message: string): EngineError {
  return new EngineError('bad_request', message, { param: 'kwargs' });
}
