// Methods of str that look for text in text, or cut at what they find.

import {
  codePoints,
  countPoints,
  isSpace,
  pointIndex,
  splitLines,
  stripEnds,
  unitIndex,
} from '../values/code-points.ts';
import { Dict } from '../values/dict.ts';
import { typeError, valueError } from '../values/failure.ts';
import { isTrue, iterate } from '../values/iterate.ts';
import type { Meter } from '../values/meter.ts';
import type { MethodRows } from './method.ts';
import { requireInt, requireText } from '../values/numbers.ts';
import { isText, Tuple, typeName, type Value } from '../values/values.ts';

/** The part between two code points, as a slice cuts it, and the UTF-16 index it begins at. */
function part(text: string, start: Value, end: Value): { text: string; from: number } | null {
  if (start === null && end === null) return { text, from: 0 };
  const length = countPoints(text);
  const place = (value: Value, usual: number): number => {
    if (value === null) return usual;
    const at = requireInt(value);
    return at < 0 ? Math.max(0, at + length) : at;
  };
  const from = place(start, 0);
  const to = Math.min(length, place(end, length));
  if (from > length || from > to) return null;
  const unit = unitIndex(text, from);
  return { text: text.slice(unit, unitIndex(text, to)), from: unit };
}

function find(text: string, [wanted, start, end]: readonly Value[], last: boolean, meter: Meter): number {
  const needle = requireText(wanted!, meter);
  meter.read(text.length);
  const place = part(text, start!, end!);
  if (!place) return -1;
  const at = last ? place.text.lastIndexOf(needle) : place.text.indexOf(needle);
  return at < 0 ? -1 : pointIndex(text, place.from + at);
}

function located(text: string, args: readonly Value[], last: boolean, meter: Meter): number {
  const at = find(text, args, last, meter);
  if (at < 0) throw valueError('substring not found');
  return at;
}

function count(text: string, [wanted, start, end]: readonly Value[], meter: Meter): number {
  const needle = requireText(wanted!, meter);
  meter.read(text.length);
  const place = part(text, start!, end!);
  if (!place) return 0;
  if (needle === '') return countPoints(place.text) + 1;
  let found = 0;
  for (let at = place.text.indexOf(needle); at >= 0; at = place.text.indexOf(needle, at + needle.length)) {
    meter.step();
    found++;
  }
  return found;
}

function hasEnd(text: string, args: readonly Value[], atEnd: boolean, meter: Meter): boolean {
  const [wanted, start, end] = args;
  const place = part(text, start!, end!);
  const needles = wanted instanceof Tuple ? wanted.items : [wanted!];
  return needles.some((needle) => {
    if (!isText(needle)) {
      const name = atEnd ? 'endswith' : 'startswith';
      const message = `${name} first arg must be str or a tuple of str, not ${typeName(needle)}`;
      throw typeError(message);
    }
    const edge = requireText(needle, meter);
    if (!place) return false;
    return atEnd ? place.text.endsWith(edge) : place.text.startsWith(edge);
  });
}

/** Every occurrence, or the first `most` where that is not negative. */
export function replaceText(text: string, from: string, to: string, most: number, meter: Meter): string {
  meter.read(text.length);
  const pieces = from === '' ? ['', ...codePoints(text), ''] : text.split(from);
  const times = Math.min(pieces.length - 1, most < 0 ? Infinity : most);
  meter.hold(pieces.length);
  meter.make(text.length + times * Math.max(0, to.length - from.length));
  if (times === pieces.length - 1) return pieces.join(to);
  return (
    pieces.slice(0, times + 1).join(to) +
    pieces
      .slice(times)
      .map((piece, at) => (at === 0 ? '' : from + piece))
      .join('')
  );
}

export function joinText(separator: string, pieces: Iterable<string>, meter: Meter): string {
  let result = '';
  let first = true;
  for (const piece of pieces) {
    const added = first ? piece : separator + piece;
    meter.make(result.length + added.length, added.length);
    result += added;
    first = false;
  }
  return result;
}

function split(text: string, separator: Value, most: number, fromEnd: boolean, meter: Meter): string[] {
  meter.read(text.length);
  const cuts = most < 0 ? Infinity : most;
  const pieces =
    separator === null
      ? splitSpaces(text, cuts, fromEnd)
      : splitAt(text, requireText(separator, meter), cuts, fromEnd);
  meter.hold(pieces.length);
  return pieces;
}

function splitAt(text: string, separator: string, cuts: number, fromEnd: boolean): string[] {
  if (separator === '') throw valueError('empty separator');
  const pieces = text.split(separator);
  if (pieces.length - 1 <= cuts) return pieces;
  const kept = pieces.length - cuts;
  return fromEnd
    ? [pieces.slice(0, kept).join(separator), ...pieces.slice(kept)]
    : [...pieces.slice(0, cuts), pieces.slice(cuts).join(separator)];
}

function splitSpaces(text: string, cuts: number, fromEnd: boolean): string[] {
  const pieces: string[] = [];
  let rest = stripEnds(text, 'both');
  while (rest !== '' && pieces.length < cuts) {
    const at = fromEnd ? lastSpace(rest) : firstSpace(rest);
    if (at < 0) break;
    pieces.push(fromEnd ? rest.slice(at + 1) : rest.slice(0, at));
    rest = fromEnd ? stripEnds(rest.slice(0, at), 'right') : stripEnds(rest.slice(at), 'left');
  }
  // Reversed once: unshift() would move all pieces each time.
  if (fromEnd) pieces.reverse();
  if (rest === '') return pieces;
  // The uncut rest keeps the white space of its far end.
  const isUncut = pieces.length >= cuts;
  if (!isUncut) return fromEnd ? [rest, ...pieces] : [...pieces, rest];
  const outer = fromEnd
    ? text.slice(0, text.length - stripEnds(text, 'left').length)
    : text.slice(stripEnds(text, 'right').length);
  return fromEnd ? [outer + rest, ...pieces] : [...pieces, rest + outer];
}

function firstSpace(text: string): number {
  for (let at = 0; at < text.length; at++) if (isSpace(text[at]!)) return at;
  return -1;
}

function lastSpace(text: string): number {
  for (let at = text.length - 1; at >= 0; at--) if (isSpace(text[at]!)) return at;
  return -1;
}

function partition(text: string, separator: Value, last: boolean, meter: Meter): Tuple {
  const mark = requireText(separator, meter);
  if (mark === '') throw valueError('empty separator');
  meter.read(text.length);
  const at = last ? text.lastIndexOf(mark) : text.indexOf(mark);
  if (at < 0) return new Tuple(last ? ['', '', text] : [text, '', '']);
  return new Tuple([text.slice(0, at), mark, text.slice(at + mark.length)]);
}

/** strip() and its like: white space, or the characters of `chars`. */
export function strip(text: string, chars: Value, ends: 'both' | 'left' | 'right', meter: Meter): string {
  if (chars === null) return stripEnds(text, ends);
  const dropped = new Set(codePoints(requireText(chars, meter, 'strip arg')));
  return stripEnds(text, ends, (char) => dropped.has(char));
}

const PLACE = 'sub, start=null, end=null, /';

export const SEARCH_METHODS: MethodRows<string> = {
  [`find(${PLACE})`]: (text, args, meter) => find(text, args, false, meter),
  [`rfind(${PLACE})`]: (text, args, meter) => find(text, args, true, meter),
  [`index(${PLACE})`]: (text, args, meter) => located(text, args, false, meter),
  [`rindex(${PLACE})`]: (text, args, meter) => located(text, args, true, meter),
  [`count(${PLACE})`]: count,
  [`startswith(${PLACE})`]: (text, args, meter) => hasEnd(text, args, false, meter),
  [`endswith(${PLACE})`]: (text, args, meter) => hasEnd(text, args, true, meter),
  'split(sep=null, maxsplit=-1)': (text, [by, most], meter) =>
    split(text, by!, requireInt(most!), false, meter),
  'rsplit(sep=null, maxsplit=-1)': (text, [by, most], meter) =>
    split(text, by!, requireInt(most!), true, meter),
  'splitlines(keepends=false)': (text, [keep], meter) => {
    meter.read(text.length);
    const lines = splitLines(text, isTrue(keep!));
    meter.hold(lines.length);
    return lines;
  },
  'partition(sep, /)': (text, [by], meter) => partition(text, by!, false, meter),
  'rpartition(sep, /)': (text, [by], meter) => partition(text, by!, true, meter),
  'strip(chars=null, /)': (text, [chars], meter) => strip(text, chars!, 'both', meter),
  'lstrip(chars=null, /)': (text, [chars], meter) => strip(text, chars!, 'left', meter),
  'rstrip(chars=null, /)': (text, [chars], meter) => strip(text, chars!, 'right', meter),
  'removeprefix(prefix, /)': (text, [edge], meter) => {
    const prefix = requireText(edge!, meter);
    return text.startsWith(prefix) ? text.slice(prefix.length) : text;
  },
  'removesuffix(suffix, /)': (text, [edge], meter) => {
    const suffix = requireText(edge!, meter);
    return suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
  },
  'replace(old, new, count=-1, /)': (text, [from, to, most], meter) =>
    replaceText(text, requireText(from!, meter), requireText(to!, meter), requireInt(most!), meter),
  'join(iterable, /)': (text, [pieces], meter) => joinText(text, texts(pieces!, meter), meter),
  'translate(table, /)': translate,
};

function* texts(pieces: Value, meter: Meter): Generator<string> {
  let at = 0;
  for (const piece of iterate(pieces, meter)) {
    if (!isText(piece) && !(piece instanceof Dict && piece.sourceText !== null))
      throw typeError(`sequence item ${at}: expected str instance, ${typeName(piece)} found`);
    yield piece instanceof Dict ? piece.sourceText! : requireText(piece, meter);
    at++;
  }
}

function translate(text: string, [table]: readonly Value[], meter: Meter): Value {
  if (!(table instanceof Dict)) throw typeError(`'${typeName(table!)}' object is not subscriptable`);
  const mapped = codePoints(text).map((char) => {
    const to = table.get(char.codePointAt(0)!, meter);
    if (to === undefined) return char;
    if (to === null) return '';
    return typeof to === 'number' ? String.fromCodePoint(to) : requireText(to, meter);
  });
  return joinText('', mapped, meter);
}
