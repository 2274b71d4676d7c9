// Validation rules for a tree of formats: one table, by kind of format.

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
import type { TextFormat } from '../../../grammar/text-format.ts';

const DEEPEST = 64;

interface Members {
  required: Rules;
  may?: Rules;
}

/** Rule for a format, which may contain other formats up to a depth of DEEPEST. */
export const textFormat: Rule = (value, name) => formatAt(0)(value, name);

function formatAt(depth: number): Rule {
  return (value, name) => {
    if (depth > DEEPEST) refuse(value, name, `at most ${DEEPEST} formats deep`);
    const kinds = formats(formatAt(depth + 1));
    objectOf({ type: oneOf(...Object.keys(kinds)) }, { required: ['type'], open: true })(value, name);
    const { required, may } = kinds[(value as TextFormat).type];
    const known = { type: text, ...required, ...may };
    objectOf(known, { required: Object.keys(required) })(value, name);
  };
}

function formats(inner: Rule): { [Type in TextFormat['type']]: Members } {
  const texts = listOf(filledText);
  const elements = { required: { elements: listOf(inner, { least: 1 }) } };
  const content = { required: { content: inner } };
  const tag = { required: { begin: edge, content: inner, end: ends } };
  const tags = listOf(tagOf(tag.required, filledText), { least: 1 });
  const counts = { at_least_one: flag, stop_after_first: flag };
  return {
    const_string: { required: { value: text } },
    json_schema: { required: { json_schema: anything }, may: { style: oneOf('json'), any_order: flag } },
    any_text: { required: {}, may: { excludes: texts, max_chars: orNull(whole(0)) } },
    regex: { required: { pattern: text } },
    grammar: { required: { grammar: filledText } },
    token: { required: { token: whole(0) } },
    sequence: elements,
    or: elements,
    optional: content,
    plus: content,
    star: content,
    repeat: { required: { min: whole(0), max: whole(-1), content: inner } },
    tag,
    triggered_tags: {
      required: { triggers: listOf(filledText, { least: 1 }), tags },
      may: { ...counts, excludes: texts },
    },
    tags_with_separator: {
      required: { separator: text, tags: listOf(tagOf(tag.required, edge), { least: 1 }) },
      may: counts,
    },
    dispatch: {
      required: { rules: listOf(pairOf(filledText, inner), { least: 1 }) },
      may: { loop: flag, excludes: texts },
    },
  };
}

function tagOf(members: Rules, begin: Rule): Rule {
  return objectOf({ type: oneOf('tag'), ...members, begin }, { required: ['begin', 'content', 'end'] });
}

/** Rule for the begin of a tag: a text, or a token. */
const edge: Rule = (value, name) => {
  if (typeof value !== 'string')
    objectOf({ type: oneOf('token'), token: whole(0) }, { required: ['type', 'token'] })(value, name);
};

const ends: Rule = (value, name) => {
  if (Array.isArray(value)) listOf(text, { least: 1 })(value, name);
  else edge(value, name);
};

function orNull(rule: Rule): Rule {
  return (value, name) => {
    if (value !== null) rule(value, name);
  };
}

function pairOf(first: Rule, second: Rule): Rule {
  return (value, name) => {
    listOf(anything, { least: 2, most: 2 })(value, name);
    const [a, b] = value as unknown[];
    first(a, `${name}.0`);
    second(b, `${name}.1`);
  };
}
