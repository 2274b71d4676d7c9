// The fixed pieces of JSON text, in one place: how generated JSON may be spaced, what a number is.

import type { Dfa } from './dfa.ts';
import type { Mark } from './program.ts';
import { regexDfa } from './regex.ts';
import { array, choice, object, regular, scope, reference, string, text, type Rule } from './rule.ts';

/** One space, or one line break with its indentation: room for every usual layout, and none to ramble. */
const SPACE = '(?: |\\n[ \\t]{0,40})?';

const whole = (pattern: string): Dfa => regexDfa(pattern, { whole: true });

export const space: Dfa = whole(SPACE);
export const MARKS: Record<Mark, Dfa> = {
  openObject: whole(`\\{${SPACE}`),
  closeObject: whole('\\}'),
  spaceCloseObject: whole(`${SPACE}\\}`),
  openArray: whole(`\\[${SPACE}`),
  closeArray: whole('\\]'),
  spaceCloseArray: whole(`${SPACE}\\]`),
  comma: whole(`,${SPACE}`),
  colon: whole(`:${SPACE}`),
};

/** Any JSON number. */
export const NUMBER: Dfa = whole('-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?');

const NAME = 'JSON value';

/** What a rule of type `json` stands for. */
export const ANY_JSON: Rule = scope(
  {
    [NAME]: choice(
      string(),
      regular(NUMBER),
      text('true'),
      text('false'),
      text('null'),
      object({ rest: reference(NAME) }),
      array({ rest: reference(NAME) }),
    ),
  },
  reference(NAME),
);
