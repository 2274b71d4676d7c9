// Command-line names of settings, for messages.

import { COMPONENTS_BY_PATH, IMAGE_MODEL } from './image-model.ts';
import { IMAGE_SAMPLING } from './image-request.ts';
import { MEDIA_FETCHING } from './media.ts';
import { MODEL_SETTINGS } from './model.ts';
import { flagName, type Settings } from './setting.ts';
import { SAMPLING } from './text-request.ts';

function flagsOf(settings: Settings): ReadonlyMap<string, string> {
  const options = Object.entries(settings).filter(([, { flag }]) => flag);
  return new Map(options.map(([name, setting]) => [name, flagName(name, setting)]));
}

/** Library name → option name without hyphens, for the settings of models. */
export const MODEL_FLAGS = flagsOf({ ...MODEL_SETTINGS, ...IMAGE_MODEL });

/** Library name → option name without hyphens, for the fields of a request for images. */
export const IMAGE_FLAGS: ReadonlyMap<string, string> = new Map([
  ...flagsOf(IMAGE_SAMPLING),
  ['prompt', 'prompt'],
  ['seed', 'seed'],
  ['image', 'image-path'],
  ['lastImage', 'last-image-path'],
  ['mask', 'mask-path'],
  ['controlImages', 'control-image'],
  ['ipAdapterImage', 'ip-adapter-image'],
  ['kwargs', 'generic-kwargs'],
]);

/** Library name → option name without hyphens, for the fields of a request for text. */
export const TEXT_FLAGS: ReadonlyMap<string, string> = new Map([
  ...flagsOf(SAMPLING),
  ['maxTokens', 'max-tokens'],
]);

const written = (name: string | undefined): string | undefined => name && `--${name}`;

/** The option name without hyphens of a model setting, or of a member of one such as componentPaths.vae. */
export function modelFlag(path: string): string | undefined {
  const [name = '', member] = path.split('.');
  const flag = MODEL_FLAGS.get(name);
  if (flag === undefined || member === undefined) return flag;
  return COMPONENTS_BY_PATH.includes(member) ? `${member.replaceAll('_', '-')}-path` : `${flag}.${member}`;
}

/** The command-line option of a model setting, or of a member of one, with its hyphens. */
export const modelOption = (path: string): string | undefined => written(modelFlag(path));

/** The command-line option of a field of a request for images, with its hyphens. */
export const imageOption = (field: string): string | undefined => written(IMAGE_FLAGS.get(field));

/** The command-line option of a field of a request for text, with its hyphens. */
export const textOption = (field: string): string | undefined => written(TEXT_FLAGS.get(field));

/** The command-line option of a setting for fetching media, with its hyphens. */
export const mediaOption = (name: keyof typeof MEDIA_FETCHING): string =>
  `--${flagName(name, MEDIA_FETCHING[name])}`;
