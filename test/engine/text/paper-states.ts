// Fixed states of a fake device: the number of tokens that a sequence has passed, and a hash of them.

import { SEQUENCE_WORDS } from '../../../src/kernels/batch.ts';
import type { StateCell, StateMove } from '../../../src/engine/text/kv/state-mover.ts';

/** A number of tokens and a hash of them. */
export const STATE_BYTES = 8;

/** The fixed state after these tokens. */
export function paperState(tokens: readonly number[]): number {
  return tokens.reduce((hash, token) => Math.imul(hash ^ token, 0x01000193) >>> 0, 7);
}

/** Fixed states of slots, and copies of them. */
export class PaperStates {
  readonly #cells = new Map<string, Uint32Array<ArrayBuffer>>();

  /** Returns the state after each row; throws if a sequence goes on from another position than its slot has. */
  advance(sequences: Uint32Array, token: (row: number) => number): number[] {
    const after: number[] = [];
    for (let at = 0; at < sequences.length; at += SEQUENCE_WORDS) {
      const [first, rows, cached, slot] = sequences.subarray(at, at + SEQUENCE_WORDS);
      const [count, before] = cached! > 0 ? this.#read({ slot: slot! }) : [0, paperState([])];
      let hash = before!;
      if (count !== cached)
        throw new Error(`slot ${slot} holds the state after ${count} tokens, not ${cached}`);
      for (let row = first!; row < first! + rows!; row++)
        after[row] = hash = Math.imul(hash ^ token(row), 0x01000193) >>> 0;
      this.#cells.set(JSON.stringify({ slot }), Uint32Array.of(cached! + rows!, hash));
    }
    return after;
  }

  move(moves: readonly StateMove[]): void {
    for (const { from, to } of moves) {
      const bytes = 'bytes' in from ? from.bytes.slice() : this.bytesOf(from);
      this.#cells.set(JSON.stringify(to), new Uint32Array(bytes.buffer));
    }
  }

  bytesOf(cell: StateCell): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#read(cell).slice().buffer);
  }

  #read(cell: StateCell): Uint32Array<ArrayBuffer> {
    const values = this.#cells.get(JSON.stringify(cell));
    if (!values) throw new Error(`nothing was written to ${JSON.stringify(cell)}`);
    return values;
  }
}
