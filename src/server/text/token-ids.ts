// Checks the token ids of a request against the model before they are copied to the engine's thread.

import type { TextModelInfo } from '../../index.ts';
import { RequestError } from '../http/errors.ts';

type Limits = Pick<TextModelInfo, 'vocabSize' | 'contextLength'>;

/** Throws if an id is outside the model's vocabulary. */
export function checkIds(ids: readonly number[], path: string, { vocabSize }: Limits): void {
  const wrong = ids.findIndex((id) => id >= vocabSize);
  if (wrong < 0) return;
  const param = `${path}.${wrong}`;
  throw new RequestError(
    'invalid_value',
    `${param} is ${ids[wrong]}, and the model's ids end at ${vocabSize - 1}; send ids of its own vocabulary`,
    { param },
  );
}

/** Checks the ids of a prompt, which must leave room for one token of the reply. */
export function checkPromptIds(ids: readonly number[], path: string, limits: Limits): void {
  const most = limits.contextLength - 1;
  if (ids.length > most) throw tooMany(ids, path, `the context holds ${most} with a reply; send fewer`);
  checkIds(ids, path, limits);
}

/** Checks the ids of generated text, or of a text that is read without a reply. */
export function checkTextIds(ids: readonly number[], path: string, limits: Limits): void {
  const { contextLength: most } = limits;
  if (ids.length > most) throw tooMany(ids, path, `the context holds ${most}; send them in parts`);
  checkIds(ids, path, limits);
}

function tooMany({ length }: readonly number[], path: string, limit: string): RequestError {
  return new RequestError('context_length_exceeded', `${path} has ${length} token ids, and ${limit}`, {
    param: path,
  });
}
