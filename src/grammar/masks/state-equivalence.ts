// Equivalence of a lexeme's DFA states for texts of a bounded length, by rounds of Moore's partition refinement. A string that may still
// have 1,000 characters takes the same short tokens as one that may have 2,000, so a length bound costs a few traversals of the
// vocabulary instead of one for each count.

import { sourcesOf } from '../automata/dfa-table.ts';
import type { Lexeme } from '../lexemes/lexeme.ts';

/** Table entries read for one lexeme, some 10 ns each. */
const MOST_STEPS = 5_000_000;

/**
 * For each length, ascending: [states], the first state that no text of at most that many characters distinguishes from the state. Past
 * MOST_STEPS every state is its own.
 */
export function equivalentStates(lexeme: Lexeme, lengths: readonly number[]): Int32Array[] {
  const refinement = new BoundedRefinement(lexeme);
  return lengths.map((length) => refinement.firstEquivalent(length));
}

class BoundedRefinement {
  readonly #lexeme: Lexeme;
  /** [states]: the class of each state so far. */
  readonly #classOf: Int32Array;
  /** [classes]: number of states. */
  readonly #sizes: Int32Array;
  #mostClass = 1;
  readonly #sources: (state: number) => Int32Array;
  readonly #pairs: PairTable;
  #steps = 0;
  /** Rounds so far: the classes are those of texts of at most so many characters. */
  #round = 0;
  /** States with a successor whose class changed in the last round. */
  #changed: Int32Array;

  constructor(lexeme: Lexeme) {
    const { accept } = lexeme;
    this.#lexeme = lexeme;
    this.#classOf = Int32Array.from(accept);
    this.#sizes = new Int32Array(accept.length + 2);
    for (const of of this.#classOf) this.#sizes[of]!++;
    this.#sources = sourcesOf(lexeme);
    this.#pairs = new PairTable(accept.length);
    this.#changed = Int32Array.from(accept, (_, state) => state);
  }

  firstEquivalent(length: number): Int32Array {
    for (; this.#round < length && this.#changed.length > 0; this.#round++) {
      this.#steps += this.#changed.length * this.#lexeme.classCount;
      if (this.#steps > MOST_STEPS) return Int32Array.from(this.#classOf, (_, state) => state);
      const moved = this.#refine(this.#changed);
      this.#changed = Int32Array.from(new Set(moved.flatMap((state) => [...this.#sources(state)])));
    }
    return firstOfClasses(this.#classOf);
  }

  /** Splits classes by the classes of the successors, in one round. Returns the states whose class changed. */
  #refine(changed: Int32Array): number[] {
    const classOf = this.#classOf;
    const groups = this.#groups(changed);
    // The largest group of a class keeps the class where no other state is in it.
    const others = new Map<number, number>();
    const largest = new Map<number, number[]>();
    for (const group of groups) {
      const of = classOf[group[0]!]!;
      others.set(of, (others.get(of) ?? this.#sizes[of]!) - group.length);
      if (group.length > (largest.get(of)?.length ?? 0)) largest.set(of, group);
    }
    const moving = groups.filter((group) => {
      const of = classOf[group[0]!]!;
      return others.get(of)! > 0 || largest.get(of) !== group;
    });
    for (const group of moving) {
      this.#sizes[classOf[group[0]!]!]! -= group.length;
      this.#sizes[++this.#mostClass] = group.length;
      for (const state of group) classOf[state] = this.#mostClass;
    }
    return moving.flat();
  }

  /** The states, grouped by their class and the classes of their successors. */
  #groups(changed: Int32Array): number[][] {
    const { next, classCount } = this.#lexeme;
    const classOf = this.#classOf;
    let finer = Int32Array.from(changed, (state) => classOf[state]!);
    for (let c = 0; c < classCount; c++) {
      this.#pairs.clear();
      finer = finer.map((of, i) => {
        const to = next[changed[i]! * classCount + c]!;
        return this.#pairs.indexOf(of, to < 0 ? -1 : classOf[to]!);
      });
    }
    const groups = new Map<number, number[]>();
    changed.forEach((state, i) => {
      const group = groups.get(finer[i]!);
      if (group) group.push(state);
      else groups.set(finer[i]!, [state]);
    });
    return [...groups.values()];
  }
}

/** [states]: the first state of the same class. */
function firstOfClasses(classOf: Int32Array): Int32Array {
  const first = new Map<number, number>();
  return classOf.map((of, state) => {
    const known = first.get(of);
    if (known === undefined) first.set(of, state);
    return known ?? state;
  });
}

/** Numbers pairs of integers in the order in which they first occur: a hash table with open addressing. */
class PairTable {
  readonly #mask: number;
  readonly #slots: Int32Array;
  readonly #first: Int32Array;
  readonly #second: Int32Array;
  #size = 0;

  /** `most`: pairs between two calls of clear(). */
  constructor(most: number) {
    this.#mask = 2 ** Math.ceil(Math.log2(2 * most + 2)) - 1;
    this.#slots = new Int32Array(this.#mask + 1);
    this.#first = new Int32Array(most);
    this.#second = new Int32Array(most);
  }

  clear(): void {
    this.#slots.fill(0);
    this.#size = 0;
  }

  indexOf(a: number, b: number): number {
    const mask = this.#mask;
    const slots = this.#slots;
    let slot = (Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b)) & mask;
    for (let found = slots[slot]!; found > 0; found = slots[slot]!) {
      if (this.#first[found - 1] === a && this.#second[found - 1] === b) return found - 1;
      slot = (slot + 1) & mask;
    }
    this.#first[this.#size] = a;
    this.#second[this.#size] = b;
    slots[slot] = this.#size + 1;
    return this.#size++;
  }
}
