// States of a lexeme that no short text tells apart: a string that may still have 1,000 characters takes the same tokens as one that
// may have 2,000. So a count costs a few walks over the vocabulary, not one for each of its values.

import type { Lexeme } from './lexeme.ts';

/** Table look-ups for one lexeme; some 10 ns each. */
const MOST_STEPS = 5_000_000;

/** For each length: of each state, the first one that texts of at most that length do not tell from it. Lengths ascend. */
export function alikeStates(lexeme: Lexeme, lengths: readonly number[]): Int32Array[] {
  const { next, accept, classCount } = lexeme;
  const count = accept.length;
  const kinds = Int32Array.from(accept);
  let mostKind = 1;
  const sizes = new Int32Array(count + 2);
  for (const kind of kinds) sizes[kind]!++;
  const sources = sourcesOf(lexeme);
  const table = createTable(count);
  let steps = 0;

  /** States whose kind changes as texts may be longer by one; `looked`: those that a change lies before. */
  const refine = (looked: Int32Array): number[] => {
    let finer = Int32Array.from(looked, (state) => kinds[state]!);
    for (let c = 0; c < classCount; c++) {
      table.clear();
      finer = finer.map((kind, i) => {
        const to = next[looked[i]! * classCount + c]!;
        return table.number(kind, to < 0 ? -1 : kinds[to]!);
      });
    }
    const groups = new Map<number, number[]>();
    looked.forEach((state, i) => {
      const group = groups.get(finer[i]!);
      if (group) group.push(state);
      else groups.set(finer[i]!, [state]);
    });
    // Where no state of a kind was left out, its largest group keeps the number.
    const left = new Map<number, number>();
    const largest = new Map<number, number[]>();
    for (const group of groups.values()) {
      const kind = kinds[group[0]!]!;
      left.set(kind, (left.get(kind) ?? sizes[kind]!) - group.length);
      if (group.length > (largest.get(kind)?.length ?? 0)) largest.set(kind, group);
    }
    const moving = [...groups.values()].filter((group) => {
      const kind = kinds[group[0]!]!;
      return left.get(kind)! > 0 || largest.get(kind) !== group;
    });
    for (const group of moving) {
      sizes[kinds[group[0]!]!]! -= group.length;
      sizes[++mostKind] = group.length;
      for (const state of group) kinds[state] = mostKind;
    }
    return moving.flat();
  };

  let round = 0;
  let looked = Int32Array.from(kinds, (_, state) => state);
  return lengths.map((length) => {
    for (; round < length && looked.length > 0; round++) {
      steps += looked.length * classCount;
      if (steps > MOST_STEPS) return firsts(count, null);
      looked = Int32Array.from(new Set(refine(looked).flatMap((state) => [...sources(state)])));
    }
    return firsts(count, kinds);
  });
}

/** States that a character leads to a state from. */
function sourcesOf({ next, accept, classCount }: Lexeme): (state: number) => Int32Array {
  const count = accept.length;
  const from = new Int32Array(count + 1);
  for (const to of next) if (to >= 0) from[to + 1]!++;
  for (let state = 0; state < count; state++) from[state + 1]! += from[state]!;
  const sources = new Int32Array(from[count]!);
  const fill = from.slice();
  next.forEach((to, i) => {
    if (to >= 0) sources[fill[to]!++] = Math.floor(i / classCount);
  });
  return (state) => sources.subarray(from[state], from[state + 1]);
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
