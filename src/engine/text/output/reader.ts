// Reader of a reply as a sequence of symbols: characters and special tokens. Parsers are generators that wait
// at the end of the input, so that each is written as if the whole reply were present, and the split of text into tokens
// makes no difference.

/** A parser that consumes the available input, and yields to wait for more. */
export type Parse<T> = Generator<undefined, T, undefined>;

/** A character (UTF-16 unit), or a special token. */
export interface Unit {
  /** Decoded text; may be '' for a special token. */
  text: string;
  /** Id of a special token; -1 for a character. */
  id: number;
  /** Index of the generated token that contains the unit. */
  token: number;
}

/** A text to recognise, as symbols: characters, and ids of the special tokens in it. */
export interface Marker {
  text: string;
  symbols: readonly (string | number)[];
}

export interface Reader {
  units: Unit[];
  at: number;
  ended: boolean;
}

export function createReader(): Reader {
  return { units: [], at: 0, ended: false };
}

/** Drops consumed units if they are at least half of all. Earlier values of `at` become invalid. */
export function forget(reader: Reader): void {
  if (reader.at < reader.units.length / 2) return;
  reader.units.splice(0, reader.at);
  reader.at = 0;
}

/** Returns the next unit without consuming it; null: the reply has ended. */
export function* peek(reader: Reader): Parse<Unit | null> {
  while (reader.at === reader.units.length && !reader.ended) yield;
  return reader.units[reader.at] ?? null;
}

/** Consumes the longest marker that matches at the current position. Returns null and consumes nothing if none matches. */
export function* match(reader: Reader, markers: readonly Marker[]): Parse<Marker | null> {
  const from = reader.at;
  let open = markers;
  let best: { marker: Marker; end: number } | null = null;
  for (let nth = 0; open.length > 0; nth++) {
    const unit = yield* peek(reader);
    if (unit === null) break;
    open = open.filter((marker) => isUnit(unit, marker.symbols[nth]));
    if (open.length === 0) break;
    reader.at++;
    const whole = open.find(({ symbols }) => symbols.length === nth + 1);
    if (whole) best = { marker: whole, end: reader.at };
    open = open.filter(({ symbols }) => symbols.length > nth + 1);
  }
  reader.at = best?.end ?? from;
  return best?.marker ?? null;
}

/** Whether one of the markers matches at the current position; consumes nothing. */
export function* sees(reader: Reader, markers: readonly Marker[]): Parse<boolean> {
  const from = reader.at;
  const found = yield* match(reader, markers);
  reader.at = from;
  return found !== null;
}

/** First symbols of the markers. */
export function firsts(markers: readonly Marker[]): ReadonlySet<string | number> {
  return new Set(markers.flatMap(({ symbols }) => symbols.slice(0, 1)));
}

export function isOneOf(unit: Unit, symbols: ReadonlySet<string | number>): boolean {
  return symbols.has(unit.id >= 0 ? unit.id : unit.text);
}

/** Consumes the next unit and all available ones after it, up to one of the symbols `stops`. Returns their text. */
export function textUntil(reader: Reader, stops: ReadonlySet<string | number>): string {
  const { units } = reader;
  let text = units[reader.at++]!.text;
  while (reader.at < units.length && !isOneOf(units[reader.at]!, stops)) text += units[reader.at++]!.text;
  return text;
}

function isUnit(unit: Unit, wanted: string | number | undefined): boolean {
  return unit.id >= 0 ? unit.id === wanted : unit.text === wanted;
}

/** Consumes the character `wanted` if it is next; whether it was. */
export function* character(reader: Reader, wanted: string): Parse<boolean> {
  const next = yield* peek(reader);
  if (next === null || next.id >= 0 || next.text !== wanted) return false;
  reader.at++;
  return true;
}

export function* space(reader: Reader): Parse<void> {
  for (;;) {
    const next = yield* peek(reader);
    if (next === null || next.id >= 0 || !/\s/.test(next.text)) return;
    reader.at++;
  }
}

/** Consumes the longest run of characters that match `belongs`, at most `most`. Returns its text. */
export function* run(reader: Reader, belongs: RegExp, most = Infinity): Parse<string> {
  let text = '';
  while (text.length < most) {
    const next = yield* peek(reader);
    if (next === null || next.id >= 0 || !belongs.test(next.text)) return text;
    text += next.text;
    reader.at++;
  }
  return text;
}

/**
 * Consumes all input up to the marker, and the marker; false: the reply ended first. `stopsHere` is called at each occurrence of the
 * marker's
 first character; if it returns true, reading ends there.
 */
export function* until(
  reader: Reader,
  marker: Marker,
  take: (text: string) => void,
  stopsHere?: () => Parse<boolean>,
): Parse<boolean> {
  const markers = [marker];
  const stops = firsts(markers);
  for (;;) {
    const next = yield* peek(reader);
    if (next === null) return false;
    if (isOneOf(next, stops)) {
      if (yield* match(reader, markers)) return true;
      if (stopsHere && (yield* stopsHere())) return true;
    }
    take(textUntil(reader, stops));
  }
}

/** Returns a cached function that makes markers. `specialId`: the id of a special token by its text. */
export function markerMaker(specialId: (text: string) => number | undefined): (text: string) => Marker {
  const made = new Map<string, Marker>();
  return (text) => {
    const known = made.get(text);
    if (known) return known;
    const marker = { text, symbols: symbolsOf(text, specialId) };
    made.set(text, marker);
    return marker;
  };
}

/** A marker without special tokens. */
export function plainMarker(text: string): Marker {
  return { text, symbols: text.split('') };
}

/** Symbols of a text. At each position the longest special token is taken. */
function symbolsOf(text: string, specialId: (text: string) => number | undefined): (string | number)[] {
  const symbols: (string | number)[] = [];
  for (let at = 0; at < text.length;) {
    let length = text.length - at;
    let id: number | undefined;
    for (; length > 1 && (id = specialId(text.slice(at, at + length))) === undefined;) length--;
    symbols.push(id ?? text[at]!);
    at += length;
  }
  return symbols;
}

/** Text since a position, and the ids of special tokens in it. */
export function writtenSince({ units }: Reader, from: number): (string | number)[] {
  const written: (string | number)[] = [];
  let text = '';
  for (const unit of units.slice(from)) {
    if (unit.id < 0) {
      text += unit.text;
      continue;
    }
    if (text !== '') written.push(text);
    written.push(unit.id);
    text = '';
  }
  return text === '' ? written : [...written, text];
}
