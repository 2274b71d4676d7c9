// A lexeme as a lazy DFA over bytes: a transition table whose rows are filled when a traversal first leaves from them. A row has an
// entry for each byte, and one for each byte class whose bytes all lead to the same row.

import { BYTE_CLASS_OF, BYTE_CLASSES } from './byte-class-trie.ts';
import type { Lexeme } from '../lexemes/lexeme.ts';
import { advance, isComplete } from '../lexemes/lexeme-state.ts';

/** Entry of a byte that no match takes. */
export const DEAD = -1;
/** Entry of a byte class whose bytes lead to different rows. */
export const MIXED = -2;
/** Entries of a row: 256 bytes, then the byte classes. */
export const WIDTH = 256 + BYTE_CLASSES;

/** Rows after which the table is full and is to be replaced; a row takes 1.3 kB. */
const MOST_ROWS = 8192;
/** Traversals leave most lexemes, which are literals, after a few bytes. */
const FIRST_ROWS = 4;

export class LazyDfa {
  /** [rows][WIDTH]: a row, DEAD or MIXED. Adding rows replaces the array. */
  next = new Int32Array(FIRST_ROWS * WIDTH);
  /** [rows]: 1 where the entries are filled. */
  filled = new Uint8Array(FIRST_ROWS);
  /** [rows]: 1 where the lexeme is complete. */
  complete = new Uint8Array(FIRST_ROWS);
  readonly #lexeme: Lexeme;
  readonly #onGrow: (bytes: number) => void;
  readonly #rows = new Map<number, number>();
  /** [rows]: the lexeme's state. */
  readonly #states: number[] = [];

  /** `onGrow` is called with the bytes of each allocation. */
  constructor(lexeme: Lexeme, onGrow: (bytes: number) => void) {
    this.#lexeme = lexeme;
    this.#onGrow = onGrow;
    onGrow(this.next.byteLength);
  }

  get isFull(): boolean {
    return this.#states.length > MOST_ROWS;
  }

  /** The row of a state of the lexeme. */
  row(state: number): number {
    let row = this.#rows.get(state);
    if (row === undefined) {
      this.#rows.set(state, (row = this.#states.push(state) - 1));
      if (row === this.filled.length) this.#grow();
      this.complete[row] = Number(isComplete(this.#lexeme, state));
    }
    return row;
  }

  fill(row: number): void {
    const lexeme = this.#lexeme;
    const { decoder, decoderStates } = lexeme;
    const state = this.#states[row]!;
    const entries = new Int32Array(WIDTH).fill(DEAD);
    const from = (state % decoderStates) * 256;
    for (let byte = 0, of = -1; byte < 256; byte++) {
      // Bytes that the decoder does not distinguish lead to the same row.
      if (byte > 0 && decoder[from + byte] === decoder[from + byte - 1]) entries[byte] = entries[byte - 1]!;
      else {
        const to = advance(lexeme, state, byte);
        entries[byte] = to < 0 ? DEAD : this.row(to);
      }
      const isFirst = BYTE_CLASS_OF[byte] !== of;
      of = BYTE_CLASS_OF[byte]!;
      if (isFirst) entries[256 + of] = entries[byte]!;
      else if (entries[256 + of] !== entries[byte]) entries[256 + of] = MIXED;
    }
    this.next.set(entries, row * WIDTH);
    this.filled[row] = 1;
  }

  /** Whether bytes of one class lead from the row to different rows. */
  distinguishesClasses(row: number): boolean {
    if (this.filled[row] === 0) this.fill(row);
    return this.next.subarray(row * WIDTH + 256, (row + 1) * WIDTH).includes(MIXED);
  }

  #grow(): void {
    this.next = doubled(this.next);
    this.#onGrow(this.next.byteLength / 2);
    this.filled = doubled(this.filled);
    this.complete = doubled(this.complete);
  }
}

function doubled<T extends Int32Array | Uint8Array>(array: T): T {
  const larger = new (array.constructor as new (length: number) => T)(2 * array.length);
  larger.set(array);
  return larger;
}
