// The language that a request states.

import { badRequest } from '../../files/error.ts';
import { knownLanguage } from '../../files/language-names.ts';

/** The code among `known` that a request means by a code, with or without a region, or by a name. Throws bad_request. */
export function languageCode(given: string, known: readonly string[]): string {
  const code = knownLanguage(given, known);
  if (code !== undefined) return code;
  throw badRequest(
    `language is ${JSON.stringify(given)}: give the code of a language that the model knows (${known.join(', ') || 'en'}), or leave it out`,
    'language',
  );
}
