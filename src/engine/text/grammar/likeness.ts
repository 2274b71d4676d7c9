// States of a lexeme that no short text tells apart: a string that may still have 1,000 characters takes the same tokens as one that
// may have 2,000. So a count costs a few walks over the vocabulary, not one for each of its values.

import type { Lexeme } from './lexeme.ts';

/** Table look-ups for one lexeme; some 10 ns each. */
const MOST_STEPS = 5_000_000;

/** For each length: of each state, the first one that texts of at most that length do not tell from it. Lengths ascend. */
export function alikeStates({ next, accept, classCount }: Lexeme, lengths: readonly number[]): Int32Array[] {
  const count = accept.length;
  let alike = Int32Array.from(accept);
  let kinds = new Set(accept).size;
  let round = 0;
  let steps = 0;
  let isStable = count < 2;
  const table = createTable(count);
  return lengths.map((length) => {
    for (; round < length && !isStable; round++) {
      steps += count * classCount;
      if (steps > MOST_STEPS) return firsts(count, null);
      const finer = alike.slice();
      let found = kinds;
      for (let c = 0; c < classCount; c++) {
        table.clear();
        for (let state = 0; state < count; state++) {
          const to = next[state * classCount + c]!;
          finer[state] = table.number(finer[state]!, to < 0 ? -1 : alike[to]!);
        }
        found = table.size;
      }
      isStable = found === kinds;
      kinds = found;
      alike = finer;
    }
    return firsts(count, alike);
  });
}

/** The first state of each kind; null: each is its own. */
function firsts(count: number, kinds: Int32Array | null): Int32Array {
  const first = new Map<number, number>();
  return Int32Array.from({ length: count }, (_, state) => {
    if (kinds === null) return state;
    const known = first.get(kinds[state]!);
    if (known === undefined) first.set(kinds[state]!, state);
    return known ?? state;
  });
}

/** Numbers pairs in the order they come, in a table with open addresses. */
function createTable(most: number): {
  clear(): void;
  number(a: number, b: number): number;
  readonly size: number;
} {
  const mask = 2 ** Math.ceil(Math.log2(2 * most + 2)) - 1;
  const slots = new Int32Array(mask + 1);
  const firstOf = new Int32Array(most);
  const secondOf = new Int32Array(most);
  let size = 0;
  return {
    clear() {
      slots.fill(0);
      size = 0;
    },
    number(a, b) {
      let slot = (Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b)) & mask;
      for (let found = slots[slot]!; found > 0; found = slots[slot]!) {
        if (firstOf[found - 1] === a && secondOf[found - 1] === b) return found - 1;
        slot = (slot + 1) & mask;
      }
      firstOf[size] = a;
      secondOf[size] = b;
      slots[slot] = size + 1;
      return size++;
    },
    get size() {
      return size;
    },
  };
}
