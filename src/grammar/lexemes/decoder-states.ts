// The states of a byte decoder (byte-decoder.ts) while it is built, and the finished decoder as plain data.

import { classOf, NO_CLASS, rangeOf, type Dfa } from '../automata/dfa-table.ts';

/**
 * How characters are written. plain: as UTF-8. string: a JSON string in quotes, each character raw or escaped. name: a JSON string in
 * quotes with one spelling for each text, where only what must be escaped is, in its shortest form.
 */
export type TextEncoding = 'plain' | 'string' | 'name';

export interface ByteDecoder {
  states: number;
  /** [states][256]: see Lexeme.decoder. */
  next: Int32Array;
  /** [states]: classes of the characters that can be completed from the state. */
  reachable: number[][];
  /** Classes whose characters cannot be written in the available bytes. */
  missing: Set<number>;
}

/** Target of a byte. 0: no character; > 0: a state; < 0: the end of a character of class -1 - target. */
export type DecoderTarget = number;
export type Row = (readonly [byte: number, to: DecoderTarget])[];

/** The states of a decoder while it is built; states with equal rows are one. */
export class DecoderStates {
  readonly #text: Dfa;
  readonly #available: Uint8Array;
  /** Row 0 is the start, which is set last. */
  readonly #rows: Row[] = [[]];
  readonly #indices = new Map<string, DecoderTarget>();
  readonly #shared = new Map<string, DecoderTarget>();

  constructor(text: Dfa, available: Uint8Array) {
    this.#text = text;
    this.#available = available;
  }

  /** The state with these transitions; 0 where none of them leads to a character. */
  state(entries: Row): DecoderTarget {
    const row = this.#possible(entries);
    if (row.length === 0) return 0;
    const key = row.join(';');
    let index = this.#indices.get(key);
    if (index === undefined) this.#indices.set(key, (index = this.#rows.push(row) - 1));
    return index;
  }

  /** Calls `make` once for each key. */
  once(key: string, make: () => DecoderTarget): DecoderTarget {
    let found = this.#shared.get(key);
    if (found === undefined) this.#shared.set(key, (found = make()));
    return found;
  }

  classAt(code: number): number {
    return classOf(this.#text, code);
  }

  /** Whether all characters from `from` to `to` are of one class. */
  isUniform(from: number, to: number): boolean {
    return rangeOf(this.#text, from) === rangeOf(this.#text, to);
  }

  /** The end of the character `code`. */
  end(code: number): DecoderTarget {
    const of = this.classAt(code);
    return of === NO_CLASS ? 0 : -1 - of;
  }

  finish(first: Row): ByteDecoder {
    const rows = this.#rows;
    const { classCount } = this.#text;
    rows[0] = this.#possible(first);
    const next = new Int32Array(rows.length * 256);
    const reachable: number[][] = [];
    rows.forEach((row, at) => row.forEach(([byte, to]) => (next[at * 256 + byte] = to)));
    // Every state but the first was made after those it leads to.
    for (const at of [...rows.keys()].slice(1).concat(0)) {
      reachable[at] = [...new Set(rows[at]!.flatMap(([, to]) => (to < 0 ? [-1 - to] : reachable[to]!)))];
    }
    const spelled = new Set(reachable[0]);
    const missing = new Set(Array.from({ length: classCount }, (_, c) => c).filter((c) => !spelled.has(c)));
    return { states: rows.length, next, reachable, missing };
  }

  #possible(entries: Row): Row {
    return entries.filter(([byte, to]) => to !== 0 && this.#available[byte] === 1);
  }
}
