// From which states of a lexeme infinitely many texts lead to a match.

import { sourcesOf } from '../automata/dfa-table.ts';
import type { Lexeme } from './lexeme.ts';

const found = new WeakMap<Lexeme, Uint8Array>();

/** Whether infinitely many texts can follow; false for a few states within a character where they can, too, and where characters are counted. */
export function isEndless(lexeme: Lexeme, packed: number): boolean {
  const { decoderStates, length, quoted, classCount, next } = lexeme;
  if (length !== null) return false;
  let endless = found.get(lexeme);
  if (endless === undefined) found.set(lexeme, (endless = endlessStates(lexeme)));
  const state = Math.floor(packed / decoderStates);
  if (packed % decoderStates === 0) return endless[state] === 1;
  // The character that is begun leads to some of these states; a quote that ends the lexeme is not part of a character.
  const row = next.subarray(state * classCount, (state + 1) * classCount - Number(quoted));
  return row.every((to) => to < 0 || endless[to] === 1);
}

/** [states]: 1 where a cycle can be reached. */
function endlessStates(lexeme: Lexeme): Uint8Array {
  const { next, accept, classCount } = lexeme;
  const sources = sourcesOf(lexeme);
  const left = new Int32Array(accept.length);
  next.forEach((to, i) => {
    if (to >= 0) left[Math.floor(i / classCount)]!++;
  });
  const endless = new Uint8Array(accept.length).fill(1);
  const queue = Array.from(left.keys()).filter((state) => left[state] === 0);
  for (const state of queue) {
    endless[state] = 0;
    for (const from of sources(state)) if (--left[from]! === 0) queue.push(from);
  }
  return endless;
}
