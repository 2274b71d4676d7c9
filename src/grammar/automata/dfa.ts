// Operations on deterministic finite automata (DFA) over characters. Their results are trimmed and minimal, so no prefix leads to a
// dead end.

import { classOf, NO_CLASS, NOTHING, states, step, type Dfa, type RawDfa } from './dfa-table.ts';
import { CompileWork, TooLarge } from '../bounds/compile-work.ts';
import { minimize } from './minimize.ts';

export { TooLarge } from '../bounds/compile-work.ts';
export { classOf, NO_CLASS, NOTHING, states, step, type Dfa, type RawDfa } from './dfa-table.ts';

/** Limits on building automata; all automata of one grammar share them. */
export interface Limits {
  /** Most states times classes of one automaton. */
  cells: number;
  work: CompileWork;
}

const MOST_CELLS = 4_000_000;
/** Most states of one automaton while it is built; each takes some 200 bytes beside its row. */
const MOST_STATES = 500_000;
/** Steps that a state counts as, beside one for each of its classes. */
const STATE_STEPS = 20;

/** Default: the work is not limited. */
export function limits({ cells = MOST_CELLS, work = new CompileWork() }: Partial<Limits> = {}): Limits {
  return { cells, work };
}

/** Counts a state that is added to an automaton, which now has `states`. Throws TooLarge. */
export function checkLimits({ cells, work }: Limits, states: number, classes: number): void {
  if (states > MOST_STATES || states * Math.max(classes, 1) > cells)
    throw new TooLarge(`an automaton of over ${states} states`);
  work.spend(classes + STATE_STEPS);
}

/** Trims and minimizes, and joins the classes that no state distinguishes. */
export function dfa(raw: RawDfa, bounds: Limits = limits()): Dfa {
  return minimize(raw, bounds.work);
}

const ONE_CLASS = {
  starts: new Uint32Array([0, 0xd800, 0xe000]),
  classes: new Uint16Array([0, NO_CLASS, 0]),
  classCount: 1,
};

/** The automaton of all texts. */
export const ANY_TEXT: Dfa = { ...ONE_CLASS, next: new Int32Array(1), accept: new Uint8Array([1]) };

/** The texts of at least `min` and at most `max` characters. */
export function lengthBetween(min: number, max = Infinity, bounds: Limits = limits()): Dfa {
  if (min > max) return NOTHING;
  const open = max === Infinity;
  const last = open ? min : max;
  checkLimits(bounds, last + 1, 1);
  bounds.work.spend(last + 1);
  const next = Int32Array.from({ length: last + 1 }, (_, state) => state + 1);
  next[last] = open ? last : -1;
  if (last === 0 && !open) return { ...NOTHING, next: new Int32Array(0), accept: new Uint8Array([1]) };
  return {
    ...ONE_CLASS,
    next,
    accept: Uint8Array.from({ length: last + 1 }, (_, state) => Number(state >= min)),
  };
}

/** Steps that a range of characters, and an entry of a product automaton, count as. */
const RANGE_STEPS = 20;
const PAIR_STEPS = 8;

/** The product automaton of the texts for which `wanted(in a, in b)` holds; `wanted(false, false)` must be false. */
function combine(a: Dfa, b: Dfa, wanted: (inA: boolean, inB: boolean) => boolean, bounds: Limits): Dfa {
  const { starts, classes, both } = commonClasses(a, b);
  bounds.work.spend(RANGE_STEPS * starts.length);
  const numbers = new Map<number, number>();
  const found: [number, number][] = [];
  const width = states(b) + 1;
  const number = (inA: number, inB: number): number => {
    if (inA < 0 && (inB < 0 || !wanted(false, true))) return -1;
    if (inB < 0 && !wanted(true, false)) return -1;
    const key = (inA + 1) * width + inB + 1;
    let state = numbers.get(key);
    if (state === undefined) {
      numbers.set(key, (state = found.length));
      found.push([inA, inB]);
      checkLimits(bounds, found.length, both.length);
    }
    return state;
  };
  number(states(a) > 0 ? 0 : -1, states(b) > 0 ? 0 : -1);
  const next: number[] = [];
  const accept: boolean[] = [];
  for (let at = 0; at < found.length; at++) {
    const [inA, inB] = found[at]!;
    bounds.work.spend(PAIR_STEPS * both.length);
    for (const [classA, classB] of both) next.push(number(step(a, inA, classA), step(b, inB, classB)));
    accept.push(wanted(a.accept[inA] === 1, b.accept[inB] === 1));
  }
  return dfa({ starts, classes, classCount: both.length, next, accept }, bounds);
}

export function intersect(a: Dfa, b: Dfa, bounds: Limits = limits()): Dfa {
  return combine(a, b, (inA, inB) => inA && inB, bounds);
}

export function unite(a: Dfa, b: Dfa, bounds: Limits = limits()): Dfa {
  return combine(a, b, (inA, inB) => inA || inB, bounds);
}

/** The texts of `a` that are not in `b`. */
export function subtract(a: Dfa, b: Dfa, bounds: Limits = limits()): Dfa {
  return combine(a, b, (inA, inB) => inA && !inB, bounds);
}

export function complementOf(a: Dfa, bounds: Limits = limits()): Dfa {
  return subtract(ANY_TEXT, a, bounds);
}

export function isEmpty(a: Dfa): boolean {
  return a.accept.length === 0;
}

/** Whether both automata accept the same language. */
export function equal(a: Dfa, b: Dfa, bounds: Limits = limits()): boolean {
  return isEmpty(combine(a, b, (inA, inB) => inA !== inB, bounds));
}

export function accepts(a: Dfa, text: string): boolean {
  let state = isEmpty(a) ? -1 : 0;
  for (const character of text) {
    if (state < 0) return false;
    state = step(a, state, classOf(a, character.codePointAt(0)!));
  }
  return a.accept[state] === 1;
}

/** The common refinement of the classes of `a` and `b`; `both`: [classes], the class in `a` and the one in `b`. */
function commonClasses(a: Dfa, b: Dfa): { starts: number[]; classes: number[]; both: [number, number][] } {
  const starts = [...new Set([...a.starts, ...b.starts])].toSorted((x, y) => x - y);
  const numbers = new Map<number, number>();
  const both: [number, number][] = [];
  let i = 0;
  let j = 0;
  const classes = starts.map((start) => {
    while (i + 1 < a.starts.length && a.starts[i + 1]! <= start) i++;
    while (j + 1 < b.starts.length && b.starts[j + 1]! <= start) j++;
    const [classA, classB] = [a.classes[i]!, b.classes[j]!];
    if (classA === NO_CLASS && classB === NO_CLASS) return NO_CLASS;
    const key = classA * 0x10000 + classB;
    let number = numbers.get(key);
    if (number === undefined) {
      numbers.set(key, (number = both.length));
      both.push([classA, classB]);
    }
    return number;
  });
  return { starts, classes, both };
}
