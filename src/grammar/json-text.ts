// The fixed pieces of JSON text, in one place: how generated JSON may be spaced, what a number is.

import type { Dfa } from './dfa.ts';
import type { Mark } from './program.ts';
import { regexDfa } from './regex.ts';
import { array, choice, object, regular, scope, reference, string, text, type Rule } from './rule.ts';

/** One space, or one line break with its indentation: room for every usual layout, and none to ramble. */
const SPACE = '(?: |\\n[ \\t]{0,40})?';

const whole = (pattern: string): Dfa => regexDfa(pattern, { whole: true });

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

const WHOLE = '(?:0|[1-9]\\d{0,20})';
const FRACTION = '(?:\\.\\d{1,22})?';
const LARGE =
  '(?:[1-9](?:\\.\\d{1,16})?[eE]\\+?(?:2[1-9]|[3-9]\\d|[12]\\d\\d|30[0-7])|1(?:\\.[0-6]\\d{0,15})?[eE]\\+?308)';
const SMALL = '[1-9](?:\\.\\d{1,16})?[eE]-(?:[1-9]\\d?|[12]\\d\\d|30[0-7])';

/** Any number, with as many digits as JSON.stringify may write: no run of them lasts for ever, and none is read as Infinity. */
export const NUMBER: Dfa = whole(`-?(?:${WHOLE}${FRACTION}(?:[eE][+-]?\\d{1,2})?|${LARGE}|${SMALL})`);

/** The same of whole numbers. */
export const INTEGER: Dfa = whole(`-?(?:${WHOLE}|${LARGE})`);

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
