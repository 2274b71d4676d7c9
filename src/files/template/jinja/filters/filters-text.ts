// Filters that make text.

import { codePoints, countPoints, splitLines, unitIndex } from '../values/code-points.ts';
import { notImplemented, TemplateFailure, typeError, valueError } from '../values/failure.ts';
import { filterTable, type Filter, type FilterContext } from './filter.ts';
import { isIterable, isTrue, iterate, listOf, requireLength } from '../values/iterate.ts';
import { escapeMarkup, stripTags } from '../values/markup.ts';
import { calculate } from '../operators/arithmetic.ts';
import { Dict } from '../values/dict.ts';
import { requireInt, requireText } from '../values/numbers.ts';
import { printed, shown, shownText } from '../values/print.ts';
import { aligned, capitalized } from '../members/string-form.ts';
import { joinText, replaceText, strip } from '../members/string-search.ts';
import { toJson } from './to-json.ts';
import { wrapText } from './wrap.ts';
import { isText, Markup, Tuple, Undefined, type Value } from '../values/values.ts';

type Args = readonly Value[];

/** Text with markup that stays markup. */
function kept(value: Value, { meter }: FilterContext, change: (text: string) => string): Value {
  const text = printed(value, meter);
  meter.make(text.length);
  const result = change(text);
  return value instanceof Markup ? new Markup(result) : result;
}

const WORD_START = /([-\s({[<]+)/u;

function title(text: string): string {
  return text
    .split(WORD_START)
    .map((word) => {
      const [first = ''] = codePoints(word.slice(0, 2));
      return first.toUpperCase() + word.slice(first.length).toLowerCase();
    })
    .join('');
}

function indent([value, width, first, blank]: Args, { meter }: FilterContext): Value {
  const by = isText(width!) ? printed(width, meter) : ' '.repeat(Math.max(0, checkedWidth(width!)));
  const text = requireText(calculate('+', value!, '\n', meter), meter);
  const lines = splitLines(text);
  meter.hold(lines.length);
  meter.make(text.length + lines.length * by.length);
  const inBlank = isTrue(blank!);
  const rest = lines.slice(1).map((line) => (inBlank || line !== '' ? by + line : line));
  const result = [lines[0] ?? '', ...rest].join('\n');
  return isTrue(first!) ? by + result : result;
}

function checkedWidth(width: Value): number {
  const count = requireInt(width);
  if (count > 2 ** 20) throw valueError(`an indentation of ${count} is too wide`);
  return count;
}

function truncate([value, length, killWords, end, leeway]: Args, { meter }: FilterContext): Value {
  const most = requireInt(length!);
  const tail = printed(end!, meter);
  const slack = leeway === null ? 5 : requireInt(leeway!);
  const endLength = countPoints(tail);
  if (most < endLength) throw typeError(`expected length >= ${endLength}, got ${most}`);
  if (slack < 0) throw typeError(`expected leeway >= 0, got ${slack}`);
  const given: Value = value ?? null;
  if (requireLength(given, meter) <= most + slack) return given;
  const text = requireText(given, meter);
  const cut = text.slice(0, unitIndex(text, most - endLength));
  if (isTrue(killWords!)) return cut + tail;
  const space = cut.lastIndexOf(' ');
  return (space < 0 ? cut : cut.slice(0, space)) + tail;
}

function join([value, separator, attribute]: Args, { meter }: FilterContext, pick: Pick): Value {
  const by = printed(separator!, meter);
  const path = attribute === null ? null : pick(attribute!);
  const pieces = function* (): Generator<string> {
    for (const item of iterate(value!, meter)) yield printed(path ? path(item) : item, meter);
  };
  return joinText(by, pieces(), meter);
}

/** Reads an attribute path off a value. */
type Pick = (attribute: Value) => (item: Value) => Value;

/** Percent-encoding of UTF-8, all but letters, digits and `_.-~` and, outside a query, `/`. */
function quoted(value: Value, inQuery: boolean, { meter }: FilterContext): string {
  const text = printed(value, meter);
  meter.make(text.length * 3);
  let result = '';
  for (const byte of new TextEncoder().encode(text)) {
    const char = String.fromCharCode(byte);
    if (/[\w.~-]/.test(char) || (char === '/' && !inQuery)) result += char;
    else if (char === ' ' && inQuery) result += '+';
    else result += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return result;
}

function urlEncode([value]: Args, context: FilterContext): Value {
  const { meter } = context;
  const given: Value = value ?? null;
  if (isText(given) || !isIterable(given)) return quoted(given, false, context);
  const pairs = given instanceof Dict ? given.items() : iterate(given, meter);
  const parts: string[] = [];
  for (const pair of pairs) {
    const [name, part, ...more] = listOf(pair, meter);
    if (name === undefined || part === undefined || more.length > 0)
      throw valueError('not enough values to unpack (expected 2)');
    parts.push(`${quoted(name, true, context)}=${quoted(part, true, context)}`);
  }
  return joinText('&', parts, meter);
}

function xmlAttributes([value, space]: Args, { meter }: FilterContext): Value {
  if (!(value instanceof Dict)) throw typeError('xmlattr takes a mapping');
  const parts: string[] = [];
  for (const { key, value: item } of value.pairs()) {
    if (item === null || item instanceof Undefined) continue;
    const name = requireText(key, meter);
    if (/[\t\n\v\f\r />=]/.test(name))
      throw valueError(`Invalid character in attribute name: ${shownText(name)}`);
    parts.push(`${escapeMarkup(name, meter).text}="${escapeMarkup(item, meter).text}"`);
  }
  const text = joinText(' ', parts, meter);
  return isTrue(space!) && text !== '' ? ` ${text}` : text;
}

const format: Filter = ([value, ...args], named, { meter }) => {
  if (args.length > 0 && named.size > 0)
    throw new TemplateFailure('TypeError', "can't handle positional and keyword arguments at the same time");
  const values = new Dict();
  for (const [name, item] of named) values.setName(name, item);
  const given = named.size > 0 ? values : new Tuple(args);
  const text = value instanceof Markup ? value : printed(value!, meter);
  return calculate('%', text, given, meter);
};

function wordWrap([value, width, breakLong, by, onHyphens]: Args, { meter }: FilterContext): Value {
  const text = requireText(value!, meter);
  meter.make(text.length * 2);
  const options = { width: requireInt(width!), breakLong: isTrue(breakLong!), onHyphens: isTrue(onHyphens!) };
  const between = by === null ? '\n' : requireText(by!, meter);
  const lines = splitLines(text).map((line) => wrapText(line, options, meter).join(between));
  return joinText(between, lines, meter);
}

/** Columns of pprint's lines. */
const PRETTY_WIDTH = 80;

function pretty([value = null]: Args, { meter }: FilterContext): Value {
  const text = shown(value, meter, true);
  if (text.length > PRETTY_WIDTH && !isText(value)) throw notImplemented('pprint of more than a line');
  return text;
}

/** `pick`: attribute paths, which sequences share. */
export function textFilters(pick: (context: FilterContext) => Pick): [string, Filter][] {
  return [
    ['format', format],
    ...filterTable({
      'upper(s)': ([s], context) => kept(s!, context, (text) => text.toUpperCase()),
      'lower(s)': ([s], context) => kept(s!, context, (text) => text.toLowerCase()),
      'capitalize(s)': ([s], context) => kept(s!, context, capitalized),
      'title(s)': ([s], context) => kept(s!, context, title),
      'trim(value, chars=null)': ([s, chars], context) =>
        kept(s!, context, (text) => strip(text, chars!, 'both', context.meter)),
      'string(object)': ([s], context) => (s instanceof Markup ? s : printed(s!, context.meter)),
      'center(value, width=80)': ([s, width], context) =>
        kept(s!, context, (text) => aligned(text, requireInt(width!), ' ', 'both', context.meter)),
      'replace(s, old, new, count=null)': ([s, from, to, most], { meter }) =>
        replaceText(
          printed(s!, meter),
          printed(from!, meter),
          printed(to!, meter),
          most === null ? -1 : requireInt(most!),
          meter,
        ),
      'join(value, d="", attribute=null)': (args, context) => join(args, context, pick(context)),
      'indent(s, width=4, first=false, blank=false)': indent,
      'truncate(s, length=255, killwords=false, end="...", leeway=null)': truncate,
      'wordwrap(s, width=79, break_long_words=true, wrapstring=null, break_on_hyphens=true)': wordWrap,
      'wordcount(s)': ([s], { meter }) => printed(s!, meter).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0,
      'urlencode(value)': urlEncode,
      'xmlattr(d, autospace=true)': xmlAttributes,
      'escape(s)': ([s], { meter }) => escapeMarkup(s!, meter),
      'e(s)': ([s], { meter }) => escapeMarkup(s!, meter),
      'forceescape(value)': ([s], { meter }) => escapeMarkup(printed(s!, meter), meter),
      'safe(value)': ([s], { meter }) => new Markup(printed(s!, meter)),
      'striptags(value)': ([s], { meter }) => stripTags(s!, meter),
      'pprint(value)': pretty,
      'tojson(x, ensure_ascii=false, indent=null, separators=null, sort_keys=false)': (
        [x, ascii, width, separators, sort],
        { meter },
      ) =>
        toJson(
          x!,
          { ascii: isTrue(ascii!), indent: width!, separators: separators!, sort: isTrue(sort!) },
          meter,
        ),
    }),
  ];
}
