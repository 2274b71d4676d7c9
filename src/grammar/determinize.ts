// From an expression to its automaton, by the subset construction. A state is a set of places in the expression, together with
// what came before where an assertion waits for it.

import { intersection, pairs, type CodePoints } from './code-points.ts';
import { checkLimits, checkTime, dfa, limits, NOTHING, unite, type Dfa, type Limits } from './dfa.ts';
import { nfaOf, type Assertion, type Expression, type Nfa } from './expression.ts';
import { WORD } from './unicode.ts';

/** What stands on one side of a place. */
type Side = 'none' | 'word' | 'other';

interface Subset {
  /** Ascending; places that take characters, the final one, and those with an assertion to come. */
  places: number[];
  before: Side;
}

/** The texts that match the whole expression. Throws TooLarge. */
export function dfaOf(expression: Expression, bounds: Limits = limits()): Dfa {
  const nfa = nfaOf(expression);
  const hasAssertions = nfa.empty.some((edges) => edges.some((edge) => edge.if !== null));
  const { starts, classes, classesOf, sides } = partition(hasAssertions ? [...nfa.sets, WORD] : nfa.sets);
  const close = closureOf(nfa);
  const asserts = nfa.empty.map((edges) => edges.some((edge) => edge.if !== null));

  const numbers = new Map<string, number>();
  const found: Subset[] = [];
  const number = (places: number[], before: Side): number => {
    if (places.length === 0) return -1;
    // What came before matters only to assertions.
    const matters = hasAssertions && places.some((place) => asserts[place]);
    const key = matters ? `${before} ${places.join()}` : places.join();
    let state = numbers.get(key);
    if (state === undefined) {
      numbers.set(key, (state = found.push({ places, before }) - 1));
      checkLimits(bounds, found.length, sides.length);
    }
    return state;
  };

  number(close([nfa.start], null), 'none');
  const next: number[] = [];
  const accept: boolean[] = [];
  for (let at = 0; at < found.length; at++) {
    checkTime(bounds);
    const { places, before } = found[at]!;
    const waits = hasAssertions && places.some((place) => asserts[place]);
    const resolve = (after: Side): number[] => (waits ? close(places, { before, after }) : places);
    accept.push(resolve('none').includes(nfa.final));
    const targets = new Map<number, number[]>();
    for (const side of waits ? (['word', 'other'] as const) : [null]) {
      for (const place of side === null ? places : resolve(side)) {
        for (const { set, to } of nfa.edges[place]!) {
          for (const c of classesOf[set]!) {
            if (side !== null && sides[c] !== side) continue;
            const target = targets.get(c);
            if (target) target.push(to);
            else targets.set(c, [to]);
          }
        }
      }
    }
    const row = next.length;
    for (let c = 0; c < sides.length; c++) next.push(-1);
    for (const [c, target] of targets) next[row + c] = number(close(target, null), sides[c]!);
  }
  return dfa({ starts, classes, classCount: sides.length, next, accept }, bounds);
}

/** Texts of any of them; of many at once, as adding one after the other would go through all before each time. */
export function uniteAll(all: readonly Dfa[], bounds: Limits): Dfa {
  if (all.length > FEW)
    return dfaOf({ kind: 'choice', parts: all.map((one) => ({ kind: 'dfa', dfa: one })) }, bounds);
  return all.reduce((a, b) => unite(a, b, bounds), NOTHING);
}

const FEW = 8;

/** What places reach without a character. With both sides known assertions are decided, else they wait. */
function closureOf(nfa: Nfa): (from: number[], sides: { before: Side; after: Side } | null) => number[] {
  const seen = new Int32Array(nfa.empty.length);
  let visit = 0;
  const stays = nfa.empty.map(
    (edges, place) =>
      place === nfa.final || nfa.edges[place]!.length > 0 || edges.some((edge) => edge.if !== null),
  );
  return (from, sides) => {
    visit++;
    const queue = [...new Set(from)];
    for (const place of queue) seen[place] = visit;
    for (let at = 0; at < queue.length; at++) {
      for (const { to, if: condition } of nfa.empty[queue[at]!]!) {
        if (seen[to] === visit) continue;
        if (condition !== null && (sides === null || !holds(condition, sides.before, sides.after))) continue;
        seen[to] = visit;
        queue.push(to);
      }
    }
    return queue.filter((place) => stays[place]).toSorted((a, b) => a - b);
  };
}

function holds(assertion: Assertion, before: Side, after: Side): boolean {
  if (assertion === 'start') return before === 'none';
  if (assertion === 'end') return after === 'none';
  return ((before === 'word') !== (after === 'word')) === (assertion === 'wordBoundary');
}

interface Partition {
  starts: number[];
  classes: number[];
  /** Of each set: the classes it is made of. */
  classesOf: number[][];
  /** Of each class. */
  sides: Side[];
}

/** Cuts the characters so that each set is made of whole classes. */
function partition(sets: CodePoints[]): Partition {
  const starts = [...new Set([0, ...sets.flatMap((set) => pairs(set).flatMap(([a, b]) => [a, b + 1]))])]
    .filter((start) => start <= 0x10ffff)
    .toSorted((a, b) => a - b);
  const members = starts.map((): number[] => []);
  sets.forEach((set, number) => {
    let i = 0;
    for (const [first, last] of pairs(set)) {
      while (starts[i]! < first) i++;
      for (; i < starts.length && starts[i]! <= last; i++) members[i]!.push(number);
    }
  });
  const numbers = new Map<string, number>();
  const classesOf: number[][] = sets.map(() => []);
  const sides: Side[] = [];
  const classes = members.map((inSets, i) => {
    const key = inSets.join();
    let number = numbers.get(key);
    if (number === undefined) {
      numbers.set(key, (number = sides.length));
      for (const set of inSets) classesOf[set]!.push(number);
      sides.push(intersection(WORD, [starts[i]!, starts[i]!]).length > 0 ? 'word' : 'other');
    }
    return number;
  });
  return { starts, classes, classesOf, sides };
}
