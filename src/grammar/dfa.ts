// Operations on deterministic automata over characters. What they make is always trimmed and minimal, so that no text leads to a dead end.

import { classOf, NO_CLASS, NOTHING, states, step, type Dfa, type RawDfa } from './dfa-table.ts';
import { minimize } from './minimize.ts';

export { classOf, NO_CLASS, NOTHING, states, step, type Dfa, type RawDfa } from './dfa-table.ts';

/** What building automata may cost; they share one where they belong to one grammar. */
export interface Limits {
  /** States times classes of one automaton. */
  cells: number;
  /** By performance.now(). */
  deadline: number;
  /** What there was until then, for messages. */
  milliseconds: number;
  /** 1 once nobody waits for it any more; another thread may set it. null: nobody can. */
  stop: Int32Array | null;
}

/** The grammar is larger or takes longer than allowed. */
export class TooLarge extends Error {}

/** Milliseconds that a grammar may take. */
export const LONGEST = 5000;
const MOST_CELLS = 4_000_000;

export function limits({
  cells = MOST_CELLS,
  milliseconds = Infinity,
  stop = null,
}: Partial<Omit<Limits, 'deadline'>> = {}): Limits {
  return { cells, deadline: performance.now() + milliseconds, milliseconds, stop };
}

/** Whether the time is over, or nobody waits any more. */
export function isOver({ deadline, stop }: Limits): boolean {
  return performance.now() > deadline || (stop !== null && Atomics.load(stop, 0) === 1);
}

export function checkTime(bounds: Limits): void {
  if (isOver(bounds)) throw new TooLarge(`more than ${bounds.milliseconds / 1000} s to compile`);
}

export function checkLimits(bounds: Limits, states: number, classes: number): void {
  if (states * Math.max(classes, 1) > bounds.cells)
    throw new TooLarge(`an automaton of over ${states} states`);
  checkTime(bounds);
}

/** Trims, minimises, and joins classes that no state tells apart. */
export function dfa(raw: RawDfa, bounds: Limits = limits()): Dfa {
  return minimize(raw, () => checkTime(bounds));
}

const ONE_CLASS = {
  starts: new Uint32Array([0, 0xd800, 0xe000]),
  classes: new Uint16Array([0, NO_CLASS, 0]),
  classCount: 1,
};

/** Every text. */
export const ANY_TEXT: Dfa = { ...ONE_CLASS, next: new Int32Array(1), accept: new Uint8Array([1]) };

/** Texts of so many characters, both counts included. */
export function lengthBetween(min: number, max = Infinity, bounds: Limits = limits()): Dfa {
  if (min > max) return NOTHING;
  const open = max === Infinity;
  const last = open ? min : max;
  checkLimits(bounds, last + 1, 1);
  const next = Int32Array.from({ length: last + 1 }, (_, state) => state + 1);
  next[last] = open ? last : -1;
  if (last === 0 && !open) return { ...NOTHING, next: new Int32Array(0), accept: new Uint8Array([1]) };
  return {
    ...ONE_CLASS,
    next,
    accept: Uint8Array.from({ length: last + 1 }, (_, state) => Number(state >= min)),
  };
}

/** Texts for which `wanted(in a, in b)` holds; `wanted(false, false)` is false. */
function combine(a: Dfa, b: Dfa, wanted: (inA: boolean, inB: boolean) => boolean, bounds: Limits): Dfa {
  checkTime(bounds);
  const { starts, classes, both } = commonClasses(a, b);
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

/** Texts of `a` that are not in `b`. */
export function subtract(a: Dfa, b: Dfa, bounds: Limits = limits()): Dfa {
  return combine(a, b, (inA, inB) => inA && !inB, bounds);
}

export function complementOf(a: Dfa, bounds: Limits = limits()): Dfa {
  return subtract(ANY_TEXT, a, bounds);
}

export function isEmpty(a: Dfa): boolean {
  return a.accept.length === 0;
}

/** Whether both accept the same texts. */
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

/** Ranges and classes that tell apart what either tells apart; each new class with the old ones it stands for. */
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
