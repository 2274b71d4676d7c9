// Token ids that a client sends, against the model that is to read them: before they are copied, and handed on to its thread.

import type { TextModelInfo } from '../../index.ts';
import { RequestError } from '../errors.ts';

type Limits = Pick<TextModelInfo, 'vocabSize' | 'contextLength'>;

/** Throws where one is none of the model's. */
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

/** Checks the ids of a prompt, which leaves room for a token of the reply. */
export function checkPromptIds(ids: readonly number[], path: string, limits: Limits): void {
  const most = limits.contextLength - 1;
  if (ids.length > most) throw tooMany(ids, path, `the context holds ${most} with a reply; send fewer`);
  checkIds(ids, path, limits);
}

/** Checks the ids of generated text, or of a text that a model reads whole. */
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
