// Rules that check the constraints and processors of a request: one table each, by kind.

import {
  anything,
  filledText,
  flag,
  listOf,
  objectOf,
  oneOf,
  refuse,
  text,
  whole,
  type Rule,
  type Rules,
} from '../../input/rules.ts';
import { LIMITS } from '../../../options/limits.ts';
import { textFormat } from './format-rules.ts';
import type { LogitProcessor, TextConstraint } from '../calls/text-model.ts';

const CONSTRAINTS: { [Type in TextConstraint['type']]: Rules } = {
  json_object: {},
  json_schema: { schema: anything, strict: flag },
  regex: { pattern: text },
  ebnf: { grammar: filledText },
  structural_tag: {
    structures: listOf(
      objectOf({ begin: filledText, schema: anything, end: text }, { required: ['begin', 'schema', 'end'] }),
      { least: 1 },
    ),
    triggers: listOf(filledText, { least: 1 }),
    strict: flag,
  },
  format: { format: textFormat, strict: flag },
};

/** The content of a grammar is checked when it is compiled. */
export const constraint: Rule = (value, name) => {
  objectOf({ type: oneOf(...Object.keys(CONSTRAINTS)) }, { required: ['type'], open: true })(value, name);
  const { type, ...members } = value as TextConstraint;
  const rules = CONSTRAINTS[type];
  objectOf(rules, { required: Object.keys(rules).filter((member) => member !== 'strict') })(members, name);
};

const badWords: Rule = (value, name) => {
  listOf(filledText, { most: LIMITS.bannedWords })(value, name);
  const bytes = (value as string[]).reduce((sum, word) => sum + new TextEncoder().encode(word).length, 0);
  if (bytes > LIMITS.bannedWordBytes)
    refuse(value, name, `words of at most ${LIMITS.bannedWordBytes} bytes together, not of ${bytes}`);
};

const PROCESSORS: { [Name in LogitProcessor['name']]: Rules } = {
  allowed_tokens: { tokens: listOf(whole(0), { least: 1 }) },
  disallowed_tokens: { tokens: listOf(whole(0)) },
  thinking_budget: { tokens: whole(0) },
  no_repeat_ngram: { size: whole(1, 1000), window: whole(1) },
  bad_words: { words: badWords },
  wgsl: { source: filledText },
};

export const processor: Rule = (value, name) => {
  objectOf({ name: oneOf(...Object.keys(PROCESSORS)) }, { required: ['name'], open: true })(value, name);
  const { name: kind } = value as LogitProcessor;
  const required = Object.keys(PROCESSORS[kind]).filter((member) => member !== 'window');
  objectOf({ name: text, ...PROCESSORS[kind] }, { required })(value, name);
};
