// The fixed parts of JSON syntax: the whitespace that generated JSON may have, the spellings of numbers, and the rule of any JSON value.

import type { Punctuation } from './compiled-grammar.ts';
import type { Dfa } from '../automata/dfa.ts';
import { regexDfa } from '../automata/regex.ts';
import { array, choice, object, reference, regular, scope, string, text, type Rule } from './rule.ts';

/** Optional space between JSON tokens: a space, or a line break with indentation. The length is bounded, so that a model cannot write space endlessly. */
const SPACE = '(?: |\\n[ \\t]{0,40})?';

const whole = (pattern: string): Dfa => regexDfa(pattern, { whole: true });

/** The punctuation of objects and arrays with the whitespace around it. */
export const PUNCTUATION: Record<Punctuation, Dfa> = {
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

/** Any number with at most as many digits as JSON.stringify writes, so that runs of digits are bounded; none reads as Infinity. */
export const NUMBER: Dfa = whole(`-?(?:${WHOLE}${FRACTION}(?:[eE][+-]?\\d{1,2})?|${LARGE}|${SMALL})`);

/** Any integer, within the bounds of NUMBER. */
export const INTEGER: Dfa = whole(`-?(?:${WHOLE}|${LARGE})`);

/** Integers in digits alone, as people write them, with at most 21 digits. */
export const PLAIN_INTEGER: Dfa = whole(`-?${WHOLE}`);

const NAME = 'JSON value';

/** The rule of any JSON value, which rules of the type `json` stand for. */
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
