// What the engine calls the fields of its requests, under the names of the options of `svc generate`: there and back again.

import { EngineError, type ImageRequest } from '../index.ts';
import { IMAGE_SAMPLING } from '../options/image-request.ts';
import { flagName } from '../options/setting.ts';
import { inOptions, MODEL_OPTIONS } from '../server/option-names.ts';
import { keyOf } from './config-file.ts';
import type { GenerateOptions } from './generate-options.ts';
import type { Given } from './generate-request.ts';

/** Option name → the request's, for those that are handed on as they are. */
export const REQUEST_FIELDS = {
  ...Object.fromEntries(
    Object.entries(IMAGE_SAMPLING).map(([name, setting]) => [flagName(name, setting), name]),
  ),
  'generic-kwargs': 'kwargs',
} as Readonly<Partial<Record<keyof GenerateOptions, keyof ImageRequest>>>;

/** Everything that the engine has a name of its own for → the option. */
const OPTIONS: Readonly<Record<string, keyof GenerateOptions>> = {
  ...MODEL_OPTIONS,
  ...Object.fromEntries(Object.entries(REQUEST_FIELDS).map(([option, field]) => [field, option])),
  prompt: 'prompt',
  seed: 'seed',
  image: 'image-path',
  mask: 'mask-path',
};

/** A note of the engine. */
export function noteTyped(message: string): string {
  return inOptions(message, OPTIONS);
}

/** An error of the engine: about an option that was given, under the name that it was given by; else as it is. */
export function asTyped(error: unknown, { options, origin, nameOf }: Given): unknown {
  if (!(error instanceof EngineError)) return error;
  const { code, param } = error;
  const said = new EngineError(code, noteTyped(error.message), {
    ...(param && { param }),
    cause: error.cause,
  });
  // A file of the model is to blame.
  if (param === null || code === 'bad_checkpoint') return said;
  const name = OPTIONS[param];
  const kwargs = options['generic-kwargs'] ?? {};
  const key = name === 'num-samples' ? 'num_images_per_prompt' : keyOf(name ?? param);
  const isTyped = name !== undefined && origin(name) !== null;
  if (key in kwargs && !isTyped) return said.underName(`${key} in ${nameOf('generic-kwargs')}`);
  if (isTyped) return said.underName(nameOf(name));
  // As the options that are printed call it.
  return name !== undefined && said.message.startsWith(`${param} `) ? said.underName(name) : said;
}
