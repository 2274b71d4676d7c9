// The tokens of a reply as symbols to parse: characters, and special tokens as wholes. Parsers are generators that wait
// where the input ends, so that each is written as if the whole reply were there, and how text falls into tokens
// makes no difference.

/** A parser that takes what has come and waits for the rest. */
export type Parse<T> = Generator<undefined, T, undefined>;

/** One character (UTF-16 unit), or a special token. */
export interface Unit {
  /** Its text, which may be '' for a special token. */
  text: string;
  /** Id of the special token; -1: a character. */
  id: number;
  /** Which token it came with, counted from 0. */
  token: number;
}

/** A text to be recognised: characters, and the ids of those tokens in it that are special. */
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

/** Forgets what lies behind, when it is most of it. Positions taken before are void. */
export function forget(reader: Reader): void {
  if (reader.at < reader.units.length / 2) return;
  reader.units.splice(0, reader.at);
  reader.at = 0;
}

/** The next unit, left where it is; null: the reply is over. */
export function* peek(reader: Reader): Parse<Unit | null> {
  while (reader.at === reader.units.length && !reader.ended) yield;
  return reader.units[reader.at] ?? null;
}

/** Consumes the longest of the markers that comes next; null, and nothing is consumed, where none does. */
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

/** Whether one of the markers comes next; consumes nothing. */
export function* sees(reader: Reader, markers: readonly Marker[]): Parse<boolean> {
  const from = reader.at;
  const found = yield* match(reader, markers);
  reader.at = from;
  return found !== null;
}

/** The first symbol of each marker. */
export function firsts(markers: readonly Marker[]): ReadonlySet<string | number> {
  return new Set(markers.flatMap(({ symbols }) => symbols.slice(0, 1)));
}

export function isOneOf(unit: Unit, symbols: ReadonlySet<string | number>): boolean {
  return symbols.has(unit.id >= 0 ? unit.id : unit.text);
}

/** Consumes the next unit, and those after it that are there already, up to one of these symbols. */
export function textUntil(reader: Reader, stops: ReadonlySet<string | number>): string {
  const { units } = reader;
  let text = units[reader.at++]!.text;
  while (reader.at < units.length && !isOneOf(units[reader.at]!, stops)) text += units[reader.at++]!.text;
  return text;
}

function isUnit(unit: Unit, wanted: string | number | undefined): boolean {
  return unit.id >= 0 ? unit.id === wanted : unit.text === wanted;
}

/** Consumes that character if it comes next. */
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

/** Consumes the longest run of characters that `belongs`. */
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
 * Consumes everything up to the marker and the marker itself; false: the reply was over first. `stopsHere` is asked where the marker's
 * first character stands, and ends it without consuming anything.
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

/** Markers of a vocabulary: which of their parts are special tokens, `specialId` says. */
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

/** Special tokens are looked for from each position on, the longest first. */
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
