// The names of settings on the command line, for messages that name them.

import { IMAGE_MODEL } from './image-model.ts';
import { IMAGE_SAMPLING } from './image-request.ts';
import { MODEL_SETTINGS } from './model.ts';
import { flagName, type Settings } from './setting.ts';
import { SAMPLING } from './text-request.ts';

function flagsOf(settings: Settings): ReadonlyMap<string, string> {
  const options = Object.entries(settings).filter(([, { flag }]) => flag);
  return new Map(options.map(([name, setting]) => [name, flagName(name, setting)]));
}

/** By the library's names: the options that models are opened with, without hyphens. */
export const MODEL_FLAGS = flagsOf({ ...MODEL_SETTINGS, ...IMAGE_MODEL });

/** By the library's names: the options that give the fields of a request for images. */
export const IMAGE_FLAGS: ReadonlyMap<string, string> = new Map([
  ...flagsOf(IMAGE_SAMPLING),
  ['prompt', 'prompt'],
  ['seed', 'seed'],
  ['image', 'image-path'],
  ['mask', 'mask-path'],
  ['kwargs', 'generic-kwargs'],
]);

/** By the library's names: the options that give the fields of a request for text. */
export const TEXT_FLAGS: ReadonlyMap<string, string> = new Map([
  ...flagsOf(SAMPLING),
  ['maxTokens', 'max-tokens'],
]);

const written = (name: string | undefined): string | undefined => name && `--${name}`;

/** The option that a model is opened with, as it is typed. */
export const modelOption = (name: string): string | undefined => written(MODEL_FLAGS.get(name));

/** The option that gives a field of a request for images, as it is typed. */
export const imageOption = (field: string): string | undefined => written(IMAGE_FLAGS.get(field));

/** The option that gives a field of a request for text, as it is typed. */
export const textOption = (field: string): string | undefined => written(TEXT_FLAGS.get(field));
