// Reads the markers around a section of calls and around each call. Text that has the form of a call, but a name that the request's tools
// do not have, is content.

import { readCall } from './bodies.ts';
import { beginsOf } from './tag-bodies.ts';
import type { CallContext } from './call-context.ts';
import type { Tags, ToolFormat } from './format.ts';
import { character, match, peek, run, space, type Marker, type Parse } from './reader.ts';

/** Markers with which calls may begin. */
export function callOpeners(format: ToolFormat): string[] {
  const own = format.bodies.flatMap((body) => (body.kind === 'tagged' ? beginsOf(body.name) : []));
  const sections = sectionsOf(format).map(({ begin }) => begin);
  return [...sections, format.call?.begin, ...own].filter((text): text is string => !!text);
}

/** Tags around all calls. Space at the end of an opening tag is trimmed, since a model may leave it out. */
export function sectionsOf({ section, otherSections = [] }: ToolFormat): Tags[] {
  const all = section ? [section, ...otherSections] : otherSections;
  return all.map(({ begin, end }) => ({ begin: begin.trimEnd(), end }));
}

export interface CallsOptions extends CallContext {
  format: ToolFormat;
  /** Whether reading ends after the first call. */
  single: boolean;
}

/**
 * Reads all calls from the current position on. Text after the markers that is not a call becomes content. Returns whether
 * there was a call.
 */
export function* readCalls(options: CallsOptions): Parse<boolean> {
  const any = yield* readSection(options);
  options.parts.endName();
  return any;
}

interface OpenSection {
  section: Tags | undefined;
  /** Markers that open a section. */
  openings: Marker[];
  /** Markers that end a section although none is open. */
  strayEnds: Marker[];
}

/** Reads the marker that opens a section, if there is one. */
function* openSection({ reader, format, parts, marker }: CallsOptions): Parse<OpenSection> {
  const sections = sectionsOf(format);
  const openings = sections.map(({ begin }) => marker(begin));
  const from = reader.at;
  const opening = yield* match(reader, openings);
  const section = sections.find(({ begin }) => begin === opening?.text);
  if (section && isCertain(section.begin)) parts.beginName(reader, from);
  const ends = sections.map(({ end }) => end).filter((end) => end !== '' && isCertain(end));
  return { section, openings, strayEnds: section ? [] : ends.map(marker) };
}

function* readSection(options: CallsOptions): Parse<boolean> {
  const { reader, format, parts, single, marker } = options;
  const { call, list, separators = [], bodies } = format;
  const one = (text: string | undefined): Marker[] => (text === undefined ? [] : [marker(text)]);
  const comma = { text: ',', symbols: [','] };
  /** Position up to which all input was emitted or dropped. */
  let settled = reader.at;
  /** Position of the space after the last call. */
  let spaced = reader.at;
  let any = false;
  let listed = false;
  const { section, openings, strayEnds } = yield* openSection(options);
  const inside = reader.at;
  for (;;) {
    yield* space(reader);
    if (any) settled = reader.at;
    if (section && (yield* match(reader, one(section.end)))) {
      if (!any) break;
      if (format.echoes) yield* match(reader, [copyOf(reader, inside)]);
      return true;
    }
    if (any && (yield* match(reader, strayEnds))) return true;
    if (listed && (yield* character(reader, ']'))) {
      listed = false;
      if (any) settled = spaced = reader.at;
      continue;
    }
    const between = listed ? [comma] : [...separators.map(marker), ...openings];
    const from = reader.at;
    const separator = any ? yield* match(reader, between) : null;
    const separated = separator !== null;
    if (separated && isCertain(separator.text)) parts.beginName(reader, from);
    yield* space(reader);
    if (list && !listed && (separated || !any) && (yield* character(reader, '['))) {
      listed = true;
      if (section && isWord(section.begin)) parts.beginName(reader, settled);
      yield* space(reader);
    }
    const at = reader.at;
    const begun = yield* match(reader, one(call?.begin));
    if (begun) parts.beginName(reader, at);
    if (any && !begun && !separated && !section && !bodies.some(({ kind }) => kind === 'tagged')) break;
    yield* space(reader);
    // No marker stands before the second call of such a section.
    if (any && section?.end && !call) parts.beginName(reader, reader.at);
    if (!(yield* readCall(options, bodies))) break;
    any = true;
    yield* closeCall(options);
    settled = spaced = reader.at;
    if (single) return true;
  }
  parts.content(
    reader.units
      .slice(any && parts.hasContent ? spaced : settled, reader.at)
      .map(({ text }) => text)
      .join(''),
  );
  return any;
}

/** Marker of the text since a position. */
function copyOf({ units, at }: CallsOptions['reader'], from: number): Marker {
  return { text: '', symbols: units.slice(from, at).map(({ id, text }) => (id < 0 ? text : id)) };
}

/** Reads the closing tag. Superfluous braces before it are skipped: models are known to write them. */
function* closeCall({ reader, marker, format, parts }: CallsOptions): Parse<void> {
  yield* space(reader);
  parts.closeCall();
  if (format.call === undefined) return;
  const from = reader.at;
  yield* run(reader, /[}\s]/);
  if (!(yield* match(reader, [marker(format.call.end)]))) reader.at = from;
}

/** Whether a call without a marker may begin here. */
export function* beginsBare({ format, parts, reader }: CallsOptions): Parse<boolean> {
  if (!format.bare || (!parts.blank && !format.anywhere)) return false;
  const next = yield* peek(reader);
  return next !== null && next.id < 0 && format.bare.includes(next.text);
}

/** Whether a tag is a plain word, so that only a list after it makes a call certain. */
export function isWord(tag: string): boolean {
  return /^\w+$/.test(tag);
}

/** Whether a tag alone makes a call certain: neither a word nor a code fence does. */
export function isCertain(tag: string): boolean {
  return !isWord(tag) && !tag.startsWith('```');
}
