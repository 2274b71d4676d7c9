// Call arguments of diffusers' pipelines, under diffusers' names: the kinds of their values, those that many families share, and
// the check of a request's arguments. The table of a family lists the arguments that its classes take.

import { badRequest, type EngineError } from '../../../files/error.ts';
import { LIMITS } from '../../../options/limits.ts';
import type { CompleteImageRequest } from './image-model.ts';

/**
 * Arguments that requests to every family may carry and that only diffusers' names set. A family adds further ones in its own type.
 */
export interface CallArguments {
  /** Share of fresh noise in DDIM and TCD steps; left out: 0. */
  eta?: number;
  /** LCM: number of timesteps in its distillation. */
  originalSteps?: number;
  /** Trained timesteps that replace the schedule's own, one per step, descending. */
  timesteps?: number[];
  /**
   * Sigmas that replace the schedule's own: for Euler with the one at which it ends; for flow models before the shift, descending
   * from 1.
   */
  sigmas?: number[];
  /** 0: images are drawn in the size that is asked for, also by models that were trained in certain sizes only; left out: 1. */
  binning?: number;
  /** Inpainting: only the mask and this many pixels around it are drawn, and pasted back into the image. */
  maskPadding?: number;
  /** Denoising begins at this share of the way to an image, and ends at `denoisingEnd`. */
  denoisingStart?: number;
  denoisingEnd?: number;
}

export interface CallArgument {
  /** Description of the valid values, which follows "it takes" in messages. */
  wanted: string;
  fits(value: unknown): boolean;
  /** The field that the argument sets: one of the request, or one of the call arguments; null: it asks for what is done anyway. */
  into: { request: keyof CompleteImageRequest } | { call: string } | null;
  /** The field holds a list, and one value stands for a list of it. */
  isList?: true;
  /** Why the model does not take the argument; follows the argument's name in messages. */
  unavailable?: string;
}

export type CallArgumentTable = Readonly<Record<string, CallArgument>>;

type Into = CallArgument['into'];

/** Largest magnitude of any number, so that values computed from it stay finite. */
const MOST = 1e6;
/** Longest list: one entry per step, and the sigma at which the last step ends. */
const MOST_ENTRIES = LIMITS.steps + 1;

export const isReal = (value: unknown): value is number =>
  typeof value === 'number' && Math.abs(value) <= MOST;
export const isWhole = (value: unknown): value is number => isReal(value) && Number.isInteger(value);

/** An argument of diffusers that takes nothing but false here. */
export const onlyFalse = (reason: string): CallArgument => ({
  wanted: `false, because ${reason}`,
  fits: (value) => value === false,
  into: null,
});

export const number = (wanted: string, fits: (value: number) => boolean, into: Into): CallArgument => ({
  wanted,
  fits: (value) => isReal(value) && fits(value),
  into,
});
export const integer = (least: number, into: Into): CallArgument => ({
  wanted: `an integer from ${least} to ${MOST}`,
  fits: (value) => isWhole(value) && value >= least,
  into,
});
export const flag = (into: Into): CallArgument => ({
  wanted: 'true or false',
  fits: (value) => typeof value === 'boolean',
  into,
});
export const text = (into: Into): CallArgument => ({
  wanted: 'a string',
  fits: (value) => typeof value === 'string',
  into,
});
export const list = (wanted: string, fits: (value: number) => boolean, into: Into): CallArgument => ({
  wanted: `a list of at most ${MOST_ENTRIES} ${wanted}`,
  fits: (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= MOST_ENTRIES &&
    value.every((item) => isReal(item) && fits(item)),
  into,
});
/** A list of numbers, or one number that stands for it. */
export const oneOrList = (wanted: string, fits: (value: number) => boolean, into: Into): CallArgument => {
  const { fits: fitsList, ...listed } = list(wanted, fits, into);
  return {
    ...listed,
    wanted: `a number, or ${listed.wanted}`,
    fits: (value) => fitsList(Array.isArray(value) ? value : [value]),
    isList: true,
  };
};
export const pair = (into: Into): CallArgument => ({
  wanted: `two integers from 0 to ${MOST}`,
  fits: (value) =>
    Array.isArray(value) && value.length === 2 && value.every((item) => isWhole(item) && item >= 0),
  into,
});

/** Arguments that every pipeline takes. */
export const COMMON: CallArgumentTable = {
  num_inference_steps: integer(1, { request: 'steps' }),
  guidance_scale: number('a number of at least 0', (value) => value >= 0, { request: 'guidance' }),
  num_images_per_prompt: integer(1, { request: 'samples' }),
  output_type: { wanted: '"pil", an image', fits: (value) => value === 'pil', into: null },
};
export const SIZE: CallArgumentTable = {
  height: integer(1, { request: 'height' }),
  width: integer(1, { request: 'width' }),
};
export const NEGATIVE: CallArgumentTable = { negative_prompt: text({ request: 'negativePrompt' }) };
const { num_images_per_prompt: samples, ...SHARED } = COMMON;
/** Arguments of pipelines that draw clips. */
export const CLIPS: CallArgumentTable = {
  ...SHARED,
  ...SIZE,
  num_frames: integer(1, { request: 'frames' }),
  num_videos_per_prompt: samples!,
  ...NEGATIVE,
};
export const RESCALE: CallArgumentTable = {
  guidance_rescale: number('a number from 0 to 1', (value) => value >= 0 && value <= 1, {
    request: 'guidanceRescale',
  }),
};
export const STRENGTH: CallArgumentTable = {
  strength: number('a number above 0 and at most 1', (value) => value > 0 && value <= 1, {
    request: 'strength',
  }),
};
/** Schedules and prompts of transformers. */
export const SIGMAS: CallArgumentTable = {
  sigmas: list('numbers between 0 and 1', (item) => item >= 0 && item <= 1, { call: 'sigmas' }),
};
export const TIMESTEPS: CallArgumentTable = {
  timesteps: list('integers of at least 0', (item) => isWhole(item) && item >= 0, { call: 'timesteps' }),
};
export const ETA: CallArgumentTable = {
  eta: number('a number from 0 to 1', (value) => value >= 0 && value <= 1, { call: 'eta' }),
};
export const MAX_LENGTH: CallArgumentTable = {
  max_sequence_length: integer(1, { request: 'maxSequenceLength' }),
};
/** The argument of pipelines that can draw only the surroundings of a mask. */
export const CROP: CallArgumentTable = { padding_mask_crop: integer(0, { call: 'maskPadding' }) };
/** Arguments of pipelines for captions that were trained in certain sizes. */
export const CAPTIONS: CallArgumentTable = {
  clean_caption: onlyFalse('cleaning of captions is not built'),
  use_resolution_binning: flag({ call: 'binning' }),
};

/** Arguments of classes that draw from a text, or also from an image, or fill its mask, by `table`. */
export const byTask =
  (table: CallArgumentTable, crop: CallArgumentTable = CROP) =>
  (task: 'text-to-image' | 'image-to-image' | 'inpainting'): CallArgumentTable =>
    task === 'text-to-image' ? table : { ...table, ...STRENGTH, ...(task === 'inpainting' ? crop : {}) };

/** Arguments of diffusers' classes that this engine does not support, with the remedy. */
const UNBUILT: Readonly<Record<string, string>> = {
  ...notBuilt('give it beside the call arguments', [
    'prompt',
    'image',
    'last_image',
    'mask_image',
    'control_image',
    'ip_adapter_image',
    'generator',
  ]),
  ...notBuilt('leave it out', [
    'masked_image_latents',
    'latents',
    'prompt_embeds',
    'negative_prompt_embeds',
    'pooled_prompt_embeds',
    'negative_pooled_prompt_embeds',
    'ip_adapter_image_embeds',
    'image_embeds',
    'attention_kwargs',
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

/**
 * Splits call arguments into fields of the request and arguments that the run reads. Throws bad_request that names the argument.
 */
export function readCallArguments(
  kwargs: Readonly<Record<string, unknown>>,
  className: string,
  table: CallArgumentTable,
): { request: Partial<CompleteImageRequest>; call: CallArguments } {
  const known = new Map(Object.entries(table).filter(([, { unavailable }]) => unavailable === undefined));
  const request: Record<string, unknown> = {};
  const call: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(kwargs)) {
    // In diffusers null is the default of every argument.
    if (value === null && (known.has(name) || Object.hasOwn(UNBUILT, name))) continue;
    const argument = known.get(name);
    if (!argument) throw unknownArgument(name, className, table, [...known.keys()]);
    if (!argument.fits(value)) {
      throw refusal(`the call argument ${name} is ${JSON.stringify(value)}, it takes ${argument.wanted}`);
    }
    const { into } = argument;
    if (into === null) continue;
    if ('request' in into) request[into.request] = argument.isList && !Array.isArray(value) ? [value] : value;
    else call[into.call] = typeof value === 'boolean' ? Number(value) : value;
  }
  checkTogether(call);
  return { request, call };
}

function checkTogether({ timesteps, sigmas, denoisingStart: start, denoisingEnd: end }: CallArguments): void {
  if (timesteps && sigmas)
    throw refusal('the call arguments timesteps and sigmas each say which steps are taken: give one of them');
  if (start === undefined || end === undefined || start < end) return;
  throw refusal(
    `the call argument denoising_start is ${start}, and denoising_end ${end}: the start comes before the end`,
  );
}

function unknownArgument(
  name: string,
  className: string,
  table: CallArgumentTable,
  known: readonly string[],
): EngineError {
  const reason = Object.hasOwn(table, name) ? table[name]!.unavailable : undefined;
  if (reason !== undefined) return refusal(`the call argument ${name} ${reason}`);
  const remedy = Object.hasOwn(UNBUILT, name) ? UNBUILT[name] : undefined;
  const takes = `takes ${known.join(', ')}`;
  return refusal(
    remedy === undefined
      ? `${className} has no call argument ${name}; it ${takes}`
      : `the call argument ${name} of diffusers' pipelines is not built: ${remedy}; ${className} ${takes}`,
  );
}

function refusal(message: string): EngineError {
  return badRequest(message, 'kwargs');
}
