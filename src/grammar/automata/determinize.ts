// The subset construction: the DFA of an expression. A DFA state is a set of NFA states, together with the character before it where
// one of them has an assertion that waits for the next character.

import { intersection, pairs, type CodePoints } from './code-points.ts';
import type { CompileWork } from '../bounds/compile-work.ts';
import { checkLimits, dfa, limits, NOTHING, TooLarge, unite, type Dfa, type Limits } from './dfa.ts';
import type { Assertion, Expression } from './expression.ts';
import { buildNfa, type Nfa } from './nfa.ts';
import { WORD } from './unicode.ts';

/** The kind of character on one side of a place; none: the text begins or ends there. */
type Side = 'none' | 'word' | 'other';

interface Subset {
  /** NFA states in ascending order: those with character edges or assertions, and the final one. */
  members: number[];
  before: Side;
}

/** The DFA of the texts that match the whole expression. Throws TooLarge. */
export function determinize(expression: Expression, bounds: Limits = limits()): Dfa {
  return new SubsetConstruction(buildNfa(expression), bounds).run();
}

/** Most NFA states of all subsets together, which are what a construction keeps in memory. */
const MOST_MEMBERS = 4_000_000;
/** Steps that a member of a subset counts as: it is sorted and written into the key of the subset. */
const MEMBER_STEPS = 12;
/** Steps that an NFA state, or an edge of one, counts as while the construction is prepared. */
const PLACE_STEPS = 10;
/** Steps that an edge counts as whenever it is followed. */
const EDGE_STEPS = 3;

/** Automata up to this count are united one after the other, which costs less than a determinization. */
const MOST_PAIRWISE = 8;

/** The union of all automata. Throws TooLarge. */
export function uniteAll(all: readonly Dfa[], bounds: Limits): Dfa {
  if (all.length > MOST_PAIRWISE)
    return determinize({ kind: 'choice', parts: all.map((one) => ({ kind: 'dfa', dfa: one })) }, bounds);
  return all.reduce((a, b) => unite(a, b, bounds), NOTHING);
}

class SubsetConstruction {
  readonly #nfa: Nfa;
  readonly #bounds: Limits;
  /** [states]: whether an assertion leads on from the state. */
  readonly #asserts: boolean[];
  readonly #hasAssertions: boolean;
  readonly #partition: Partition;
  readonly #closure: EpsilonClosure;
  readonly #indices = new Map<string, number>();
  readonly #subsets: Subset[] = [];
  /** Members of all subsets. */
  #members = 0;

  constructor(nfa: Nfa, bounds: Limits) {
    this.#nfa = nfa;
    this.#bounds = bounds;
    this.#asserts = nfa.epsilon.map((edges) => edges.some((edge) => edge.condition !== null));
    this.#hasAssertions = this.#asserts.includes(true);
    const { work } = bounds;
    const edges = nfa.edges.reduce((sum, { length }) => sum + length, 0);
    work.spend(PLACE_STEPS * (nfa.epsilon.length + edges));
    this.#partition = partition(this.#hasAssertions ? [...nfa.sets, WORD] : nfa.sets, work);
    this.#closure = new EpsilonClosure(nfa, work);
  }

  run(): Dfa {
    const { starts, classes, sides } = this.#partition;
    this.#indexOf(this.#closure.of([this.#nfa.start], null), 'none');
    const next: number[] = [];
    const accept: boolean[] = [];
    for (let at = 0; at < this.#subsets.length; at++) {
      const subset = this.#subsets[at]!;
      accept.push(this.#resolve(subset, 'none').includes(this.#nfa.final));
      const row = next.length;
      for (let c = 0; c < sides.length; c++) next.push(-1);
      for (const [c, targets] of this.#targets(subset))
        next[row + c] = this.#indexOf(this.#closure.of(targets, null), sides[c]!);
    }
    return dfa({ starts, classes, classCount: sides.length, next, accept }, this.#bounds);
  }

  #waits(members: readonly number[]): boolean {
    return this.#hasAssertions && members.some((state) => this.#asserts[state]);
  }

  /** The members once the kind of the next character decides their assertions. */
  #resolve({ members, before }: Subset, after: Side): number[] {
    return this.#waits(members) ? this.#closure.of(members, { before, after }) : members;
  }

  /** NFA states that each character class leads to. */
  #targets(subset: Subset): Map<number, number[]> {
    const { classesOf, sides } = this.#partition;
    const { work } = this.#bounds;
    const targets = new Map<number, number[]>();
    for (const side of this.#waits(subset.members) ? (['word', 'other'] as const) : [null]) {
      for (const state of side === null ? subset.members : this.#resolve(subset, side)) {
        for (const { set, to } of this.#nfa.edges[state]!) {
          work.spend(EDGE_STEPS * classesOf[set]!.length);
          for (const c of classesOf[set]!) {
            if (side !== null && sides[c] !== side) continue;
            const target = targets.get(c);
            if (target) target.push(to);
            else targets.set(c, [to]);
          }
        }
      }
    }
    return targets;
  }

  /** Index of the DFA state; -1: the empty set. */
  #indexOf(members: number[], before: Side): number {
    if (members.length === 0) return -1;
    this.#bounds.work.spend(MEMBER_STEPS * members.length);
    const key = this.#waits(members) ? `${before} ${members.join()}` : members.join();
    let index = this.#indices.get(key);
    if (index === undefined) {
      this.#indices.set(key, (index = this.#subsets.push({ members, before }) - 1));
      checkLimits(this.#bounds, this.#subsets.length, this.#partition.sides.length);
      this.#members += members.length;
      if (this.#members > MOST_MEMBERS)
        throw new TooLarge(`an automaton of over ${this.#subsets.length} states`);
    }
    return index;
  }
}

class EpsilonClosure {
  readonly #nfa: Nfa;
  /** [states]: the number of the last visit. */
  readonly #seen: Int32Array;
  /** [states]: whether closures list the state. */
  readonly #isListed: boolean[];
  readonly #work: CompileWork;
  #visit = 0;

  constructor(nfa: Nfa, work: CompileWork) {
    this.#nfa = nfa;
    this.#work = work;
    this.#seen = new Int32Array(nfa.epsilon.length);
    this.#isListed = nfa.epsilon.map(
      (edges, state) =>
        state === nfa.final || nfa.edges[state]!.length > 0 || edges.some((edge) => edge.condition !== null),
    );
  }

  /** States reached without a character, ascending. `sides` null: edges with an assertion are not taken. */
  of(from: number[], sides: { before: Side; after: Side } | null): number[] {
    const seen = this.#seen;
    const visit = ++this.#visit;
    const queue = [...new Set(from)];
    for (const state of queue) seen[state] = visit;
    for (let at = 0; at < queue.length; at++) {
      const edges = this.#nfa.epsilon[queue[at]!]!;
      this.#work.spend(EDGE_STEPS * (edges.length + 1));
      for (const { to, condition } of edges) {
        if (seen[to] === visit) continue;
        if (condition !== null && (sides === null || !holds(condition, sides.before, sides.after))) continue;
        seen[to] = visit;
        queue.push(to);
      }
    }
    return queue.filter((state) => this.#isListed[state]).toSorted((a, b) => a - b);
  }
}

function holds(assertion: Assertion, before: Side, after: Side): boolean {
  if (assertion === 'start') return before === 'none';
  if (assertion === 'end') return after === 'none';
  return ((before === 'word') !== (after === 'word')) === (assertion === 'wordBoundary');
}

interface Partition {
  starts: number[];
  classes: number[];
  /** [sets]: the classes that a set consists of. */
  classesOf: number[][];
  /** [classes]: whether the characters of a class are word characters. */
  sides: Side[];
}

/** Character classes such that each set is a union of classes. */
function partition(sets: CodePoints[], work: CompileWork): Partition {
  const starts = [...new Set([0, ...sets.flatMap((set) => pairs(set).flatMap(([a, b]) => [a, b + 1]))])]
    .filter((start) => start <= 0x10ffff)
    .toSorted((a, b) => a - b);
  const members = starts.map((): number[] => []);
  sets.forEach((set, index) => {
    let i = 0;
    for (const [first, last] of pairs(set)) {
      while (starts[i]! < first) i++;
      const from = i;
      for (; i < starts.length && starts[i]! <= last; i++) members[i]!.push(index);
      work.spend(MEMBER_STEPS * (i - from + 1));
    }
  });
  const indices = new Map<string, number>();
  const classesOf: number[][] = sets.map(() => []);
  const sides: Side[] = [];
  const classes = members.map((inSets, i) => {
    const key = inSets.join();
    let index = indices.get(key);
    if (index === undefined) {
      indices.set(key, (index = sides.length));
      for (const set of inSets) classesOf[set]!.push(index);
      sides.push(intersection(WORD, [starts[i]!, starts[i]!]).length > 0 ? 'word' : 'other');
    }
    return index;
  });
  return { starts, classes, classesOf, sides };
}
