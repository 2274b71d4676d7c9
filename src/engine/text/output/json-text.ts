// Reads JSON inside a reply as it streams. The text is passed on unchanged, even if it is malformed; only its end is searched for.

import { character, peek, textUntil, type Parse, type Reader } from './reader.ts';

/** Escapes text for the inside of a JSON string. UTF-16 units are escaped one by one, so that escaped pieces can be joined. */
export function escapeJson(text: string): string {
  return text.replace(/["\\\p{Cc}]/gu, (character) => JSON.stringify(character).slice(1, -1));
}

/** Reads a JSON string and decodes it; null: there is none, or the reply ended within it. */
export function* jsonString(reader: Reader): Parse<string | null> {
  const from = reader.at;
  let text = '';
  if (!(yield* copyString(reader, (more) => void (text += more)))) {
    reader.at = Math.max(reader.at, from);
    return null;
  }
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

const STRING_MARKS = new Set(['"', '\\']);

/** Copies a string with its quotes; false: no string begins here, or the reply ended within it. */
function* copyString(reader: Reader, take: (text: string) => void): Parse<boolean> {
  if (!(yield* character(reader, '"'))) return false;
  take('"');
  for (;;) {
    const unit = yield* peek(reader);
    if (unit === null) return false;
    if (unit.id < 0 && (unit.text === '"' || unit.text === '\\')) {
      reader.at++;
      take(unit.text);
      if (unit.text === '"') return true;
      const escaped = yield* peek(reader);
      if (escaped === null) return false;
      reader.at++;
      take(escaped.text);
    } else take(textUntil(reader, STRING_MARKS));
  }
}

/**
 * Copies one JSON value to its end. A character that is invalid outside a string ends it, too, so that a value which the model left
 * unfinished does not swallow what follows.
 */
export function* copyJson(reader: Reader, take: (text: string) => void): Parse<void> {
  let depth = 0;
  for (;;) {
    const unit = yield* peek(reader);
    if (unit === null || unit.id >= 0) return;
    const { text } = unit;
    if (text === '"') {
      if (!(yield* copyString(reader, take))) return;
    } else if (/[[{]/.test(text)) {
      depth++;
      reader.at++;
      take(text);
    } else if (depth > 0 && /[\]}]/.test(text)) {
      depth--;
      reader.at++;
      take(text);
    } else if (/[\w.+-]/.test(text)) {
      yield* copyWord(reader, take);
    } else if (depth > 0 && /[\s,:]/.test(text)) {
      reader.at++;
      take(text);
      continue;
    } else return;
    if (depth === 0) return;
  }
}

/** Copies a number, or true, false, null. */
function* copyWord(reader: Reader, take: (text: string) => void): Parse<void> {
  for (;;) {
    const unit = yield* peek(reader);
    if (unit === null || unit.id >= 0 || !/[\w.+-]/.test(unit.text)) return;
    reader.at++;
    take(unit.text);
  }
}

/**
 * Copies the arguments of a call as JSON text of an object. `null` and missing arguments become `{}`; a string is decoded, as it
 * contains
 JSON text.
 */
export function* copyArguments(reader: Reader, take: (text: string) => void): Parse<void> {
  const unit = yield* peek(reader);
  if (unit?.id === -1 && unit.text === '"') {
    let text = '';
    const whole = yield* copyString(reader, (more) => void (text += more));
    return take(unquoted(whole ? text : text.replace(/\\(u[\da-f]{0,3})?$/i, '') + '"') || '{}');
  }
  if (unit?.id === -1 && unit.text === 'n') {
    let word = '';
    yield* copyWord(reader, (more) => void (word += more));
    return take(word === 'null' ? '{}' : word);
  }
  let any = false;
  yield* copyJson(reader, (text) => {
    any = true;
    take(text);
  });
  // The arguments of a reply that was cut off stay empty.
  if (!any && !unitsEnded(reader)) take('{}');
}

function unitsEnded({ at, units, ended }: Reader): boolean {
  return ended && at === units.length;
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
