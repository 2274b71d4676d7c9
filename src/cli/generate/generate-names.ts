// Maps the names of the engine's request fields to those of the options of `svc generate`, and back.

import { EngineError, type ImageEvent, type ImageRequest, type Names } from '../../index.ts';
import { IMAGE_SAMPLING } from '../../options/image-request.ts';
import { flagName } from '../../options/setting.ts';
import { IMAGE_FLAGS, imageOption, MODEL_FLAGS, modelFlag, modelOption } from '../../options/names.ts';
import { noteText } from '../process/said.ts';
import { keyOf } from './config-file.ts';
import type { GenerateOptions } from './generate-options.ts';
import type { Given } from './generate-request.ts';

/** Option name → field of the request, for options that are passed on unchanged. */
export const REQUEST_FIELDS = {
  ...Object.fromEntries(
    Object.entries(IMAGE_SAMPLING).map(([name, setting]) => [flagName(name, setting), name]),
  ),
  'generic-kwargs': 'kwargs',
} as Readonly<Partial<Record<keyof GenerateOptions, keyof ImageRequest>>>;

const TYPED: Names = { option: modelOption, field: imageOption, isCommandLine: true };

/** A note of the engine with option names in place of field names. */
export function noteTyped(note: Extract<ImageEvent, { type: 'note' }>): string {
  return noteText(note, TYPED);
}

/** Renames the fields in an error of the engine to the names under which the user gave the options; other errors are returned unchanged. */
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
    isFile || isNamed(error) || subjectName === undefined || (!isTyped && !(key in kwargs) && !begins(error))
      ? error
      : error.underName(subjectName);
  const said = named.textWith({
    option: (one) => givenName(modelFlag(one), { origin, nameOf }),
    field: (one) => (one === subjectName ? one : givenName(IMAGE_FLAGS.get(one), { origin, nameOf })),
    isCommandLine: true,
  });
  return new EngineError(
    code,
    { parts: [said] },
    { ...(named.param && { param: named.param }), cause: error.cause },
  );
}

/** Whether a message begins with the name of the option that it is about, or of a member of it. */
const isNamed = ({ parts: [first], param }: EngineError): boolean =>
  typeof first === 'object' &&
  'option' in first &&
  (first.option === param || first.option.startsWith(`${param}.`));

/** The name of an option for the user: its key in the configuration file if it was given there, else its flag. */
function givenName(
  name: string | undefined,
  { origin, nameOf }: Pick<Given, 'origin' | 'nameOf'>,
): string | undefined {
  if (name === undefined) return undefined;
  return origin(name) === null ? `--${name}` : nameOf(name);
}
