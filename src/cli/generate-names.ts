// The names of the engine's request fields beside those of the options of `svc generate`, in both directions.

import { EngineError, type ImageEvent, type ImageRequest, type Names } from '../index.ts';
import { IMAGE_SAMPLING } from '../options/image-request.ts';
import { flagName } from '../options/setting.ts';
import { IMAGE_FLAGS, imageOption, MODEL_FLAGS, modelOption } from '../options/names.ts';
import { noteText } from './said.ts';
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

const TYPED: Names = { option: modelOption, field: imageOption };

/** A note of the engine under the names of the options. */
export function noteTyped(note: Extract<ImageEvent, { type: 'note' }>): string {
  return noteText(note, TYPED);
}

/** An error of the engine: about an option that was given, under the name that it was given by; else as it is. */
export function asTyped(error: unknown, { options, origin, nameOf }: Given): unknown {
  if (!(error instanceof EngineError)) return error;
  const { code, param } = error;
  const ownFlag = param === null ? undefined : (IMAGE_FLAGS.get(param) ?? MODEL_FLAGS.get(param));
  const name = ownFlag as keyof GenerateOptions | undefined;
  const kwargs = options['generic-kwargs'] ?? {};
  const key = name === 'num-samples' ? 'num_images_per_prompt' : keyOf(name ?? param ?? '');
  const isTyped = name !== undefined && origin(name) !== null;
  const isFile = param === null || code === 'bad_checkpoint';
  const subjectName =
    key in kwargs && !isTyped ? `${key} in ${nameOf('generic-kwargs')}` : isTyped ? nameOf(name) : name;
  const begins = (text: EngineError): boolean => {
    const [first] = text.parts;
    return typeof first === 'object' && 'field' in first && first.field === param;
  };
  const named =
    isFile || subjectName === undefined || (!isTyped && !(key in kwargs) && !begins(error))
      ? error
      : error.underName(subjectName);
  const said = named.textWith({
    option: (one) => givenName(MODEL_FLAGS.get(one), { origin, nameOf }),
    field: (one) => (one === subjectName ? one : givenName(IMAGE_FLAGS.get(one), { origin, nameOf })),
  });
  return new EngineError(
    code,
    { parts: [said] },
    { ...(named.param && { param: named.param }), cause: error.cause },
  );
}

/** The name that the user has for an option: that which it was given by, else that which is typed. */
function givenName(
  name: string | undefined,
  { origin, nameOf }: Pick<Given, 'origin' | 'nameOf'>,
): string | undefined {
  if (name === undefined) return undefined;
  return origin(name) === null ? `--${name}` : nameOf(name);
}
