// Rules that check the constraints and processors of a request: one table each, by kind.

import {
  anything,
  filledText,
  flag,
  listOf,
  objectOf,
  oneOf,
  refuse,
  ruleOf,
  text,
  type Rule,
  type Rules,
} from '../../input/rules.ts';
import { PROCESSOR } from '../../../options/conversation.ts';
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

const anyProcessor = ruleOf(PROCESSOR);

export const processor: Rule = (value, name) => {
  anyProcessor(value, name);
  const made = value as LogitProcessor;
  if (made.name !== 'bad_words') return;
  const bytes = made.words.reduce((sum, word) => sum + new TextEncoder().encode(word).length, 0);
  if (bytes > LIMITS.bannedWordBytes)
    refuse(
      made.words,
      `${name}.words`,
      `words of at most ${LIMITS.bannedWordBytes} bytes together, not of ${bytes}`,
    );
};
