// Grammar of the beginning of one optional call: from its marker to the end of the tool's name, with any text after it. The space between
// the parts is free, as it is for the parser (calls.ts, bodies.ts).

import { regexDfa } from '../../../grammar/automata/regex.ts';
import {
  choice,
  optional,
  reference,
  regular,
  scope,
  sequence,
  text,
  type Rule,
} from '../../../grammar/rules/rule.ts';
import { textWithout } from '../../../grammar/automata/marker-dfa.ts';
import { isWord, sectionsOf } from './calls.ts';
import type {
  Body,
  BracesBody,
  ChannelFormat,
  JsonBody,
  NamedBody,
  NestedBody,
  OutputFormat,
  TaggedBody,
  ToolFormat,
} from './format.ts';
import { INDEX, markRules, numberRule } from './body-rules.ts';
import { beginsOf } from './tag-bodies.ts';

/** Description of the grammar as plain data, from which it is compiled. */
export interface NamesGrammar {
  type: 'names';
  format: OutputFormat;
  /** Names of the declared tools. */
  names: readonly string[];
  /** Ids of the special tokens in markers. */
  specials: Readonly<Record<string, number>>;
}

interface Context {
  format: ToolFormat;
  mark: (marker: string) => Rule;
  /** Any of the names. */
  name: Rule;
  /** Any of the names as a JSON string. */
  quotedName: Rule;
}

const SPACE = regular(regexDfa('\\s{0,8}', { whole: true }));
const CALL_ID = regular(regexDfa('[^\\s<>\\[\\]{}]{0,64}', { whole: true }));

export function ruleOfNames({ format: { tools, channels }, names, specials }: NamesGrammar): Rule {
  const mark = markRules(specials);
  const name = choice(...names.map(text));
  const quotedName = choice(...names.map((one) => text(JSON.stringify(one))));
  const begin = channels
    ? recipientRule(channels, name, mark)
    : callBegin({ format: tools!, mark, name, quotedName });
  return sequence(begin, regular(textWithout([])));
}

/** The recipient in a header, up to what follows its name. */
function recipientRule({ namespace, ...marks }: ChannelFormat, name: Rule, mark: Context['mark']): Rule {
  const follow = [marks.channel, marks.constrain, marks.message].map(mark);
  return sequence(text(`to=${namespace}`), name, choice(text(' '), ...follow));
}

/** A call from any of the markers or separators after which one is certain. */
function callBegin(context: Context): Rule {
  const { format, mark } = context;
  const { call, list, separators = [], bodies } = format;
  const body = reference('body');
  const inner = call ? sequence(mark(call.begin), SPACE, body) : body;
  const bracket = sequence(text('['), SPACE);
  const follows = list ? sequence(optional(bracket), inner) : inner;
  const sections = sectionsOf(format).map(({ begin }) =>
    sequence(mark(begin), SPACE, ...(isWord(begin) ? [bracket, inner] : [follows])),
  );
  const between = [...(list ? [','] : []), ...separators].filter((one) => one.trim() !== '');
  const ways = [...sections, ...[...new Set(between)].map((one) => sequence(text(one), SPACE, follows))];
  return scope(
    { body: choice(...bodies.map((one) => nameIn(one, context))) },
    choice(...ways, ...(call ? [inner] : []), body),
  );
}

/** The beginning of a call's body up to what makes the end of the name certain. */
function nameIn(body: Body, context: Context): Rule {
  const { mark, name } = context;
  switch (body.kind) {
    case 'json':
      return nameMember(body, context);
    case 'named':
      return sequence(mark(body.before ?? ''), nameWithId(context), SPACE, separatorRule(body, context));
    case 'tagged':
      return sequence(choice(...beginsOf(body.name).map(mark)), name, SPACE, nameEnd(body, context));
    case 'python':
      return sequence(name, text('('));
    case 'braces':
      return sequence(choice(...befores(body).map(mark)), name, text('{'));
  }
}

function befores({ before, otherBefore }: BracesBody): string[] {
  return otherBefore === undefined ? [before] : [before, otherBefore];
}

function nameMember({ id, name }: JsonBody, { quotedName }: Context): Rule {
  const colon = sequence(SPACE, text(':'), SPACE);
  const begin = sequence(text('{'), SPACE);
  if (name === null) return sequence(begin, quotedName, colon, text('{'));
  const number = sequence(text(`"${id}"`), colon, text('"'), INDEX, text('"'), SPACE, text(','), SPACE);
  return sequence(begin, ...(id === undefined ? [] : [number]), text(`"${name}"`), colon, quotedName);
}

function nameWithId({ format: { namesAreIds }, name }: Context): Rule {
  if (!namesAreIds) return name;
  return sequence(optional(text('functions.')), name, optional(sequence(text(':'), INDEX)));
}

function separatorRule({ separator, aside, mayLackSeparator }: NamedBody, { mark }: Context): Rule {
  const own = mark(separator.trim());
  const marked = aside === undefined ? own : sequence(optional(sequence(mark(aside), CALL_ID)), own);
  return mayLackSeparator ? choice(marked, text('{')) : marked;
}

function nameEnd(body: TaggedBody | NestedBody, { format, mark }: Context): Rule {
  const { end, number } = body.name;
  if (number) return sequence(mark(end), numberRule(number, mark));
  if (end !== '' || body.nested) return mark(end);
  const ends = [format.call?.end, format.section?.end].filter((one) => !!one);
  return choice(mark(body.key.begin), ...ends.map((one) => mark(one!)));
}
