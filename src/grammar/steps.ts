// The steps of one lexeme as tables, a row for each state that walks come to: by byte, and by kind of byte where all bytes of a
// kind lead to the same. Rows are filled when they are first left from.

import { KIND_OF, KINDS } from './kinds.ts';
import { advance, isComplete, type Lexeme } from './lexeme.ts';

/** No way on. */
export const DEAD = -1;
/** Of a kind: its bytes lead to different states. */
export const MIXED = -2;
/** Entries of a row: those of bytes, then those of kinds. */
export const WIDTH = 256 + KINDS;

/** Rows after which a table begins anew; each has 1.3 kB. */
const MOST_ROWS = 8192;
/** Most texts that a grammar names are left after a few. */
const FIRST_ROWS = 4;

export interface Steps {
  /** [rows][WIDTH] → row, DEAD or MIXED; another array once rows are added. */
  readonly next: Int32Array;
  /** [rows]: 1 where the row is filled. */
  readonly filled: Uint8Array;
  /** [rows]: 1 where the lexeme may end. */
  readonly complete: Uint8Array;
  /** Of a state of the lexeme. */
  row(packed: number): number;
  fill(row: number): void;
  /** Whether bytes of one kind lead to different states. */
  tellsKindsApart(row: number): boolean;
  readonly isFull: boolean;
}

/** `onGrow` hears of the bytes that are allocated. */
export function createSteps(lexeme: Lexeme, onGrow: (bytes: number) => void): Steps {
  const { places, bytes } = lexeme;
  const rows = new Map<number, number>();
  const packedOf: number[] = [];
  let next = new Int32Array(FIRST_ROWS * WIDTH);
  let filled = new Uint8Array(FIRST_ROWS);
  let complete = new Uint8Array(FIRST_ROWS);
  onGrow(next.byteLength);
  const rowOf = (packed: number): number => {
    let row = rows.get(packed);
    if (row === undefined) {
      rows.set(packed, (row = packedOf.push(packed) - 1));
      if (row === filled.length) {
        next = grown(next);
        onGrow(next.byteLength / 2);
        filled = grown(filled);
        complete = grown(complete);
      }
      complete[row] = Number(isComplete(lexeme, packed));
    }
    return row;
  };
  const fill = (row: number): void => {
    const to = new Int32Array(WIDTH).fill(DEAD);
    const place = (packedOf[row]! % places) * 256;
    for (let byte = 0, kind = -1; byte < 256; byte++) {
      // Bytes that the table of bytes does not tell apart lead to the same.
      if (byte > 0 && bytes[place + byte] === bytes[place + byte - 1]) to[byte] = to[byte - 1]!;
      else {
        const packed = advance(lexeme, packedOf[row]!, byte);
        to[byte] = packed < 0 ? DEAD : rowOf(packed);
      }
      const isFirst = KIND_OF[byte] !== kind;
      kind = KIND_OF[byte]!;
      if (isFirst) to[256 + kind] = to[byte]!;
      else if (to[256 + kind] !== to[byte]) to[256 + kind] = MIXED;
    }
    next.set(to, row * WIDTH);
    filled[row] = 1;
  };
  return {
    get next() {
      return next;
    },
    get filled() {
      return filled;
    },
    get complete() {
      return complete;
    },
    get isFull() {
      return packedOf.length > MOST_ROWS;
    },
    row: rowOf,
    fill,
    tellsKindsApart(row) {
      if (filled[row] === 0) fill(row);
      return next.subarray(row * WIDTH + 256, (row + 1) * WIDTH).includes(MIXED);
    },
  };
}

function grown<T extends Int32Array | Uint8Array>(array: T): T {
  const larger = new (array.constructor as new (length: number) => T)(2 * array.length);
  larger.set(array);
  return larger;
}
