// What an object may still hold: which names may come next, and whether it may end. A name is offered only where the object
// can be finished after it, so that required names, bounds and names that run out never lead into a dead end.

import { TooLarge } from './dfa.ts';
import type { ObjectNode } from './program.ts';

/** The names an object has so far. */
export interface Seen {
  /** The last one that was added; null: none. */
  readonly known: KnownName | null;
  /** How they were spelled; of each group of other names. Ascending. */
  readonly others: readonly (readonly string[])[];
  readonly count: number;
}

/** A known name by its number, and those that were added before. */
interface KnownName {
  readonly number: number;
  readonly before: KnownName | null;
  readonly count: number;
  /** 64 bits of the set, the same in whatever order it was put together. */
  readonly low: number;
  readonly high: number;
}

export const EMPTY: Seen = { known: null, others: [], count: 0 };

export function withKnown(seen: Seen, number: number): Seen {
  const { known } = seen;
  return {
    others: seen.others,
    known: {
      number,
      before: known,
      count: (known?.count ?? 0) + 1,
      low: (known?.low ?? 0) ^ mixed(number, 0x9e3779b9),
      high: ((known?.high ?? 0) + mixed(number, 0x85ebca6b)) | 0,
    },
    count: seen.count + 1,
  };
}

function mixed(number: number, salt: number): number {
  let bits = Math.imul(number + 1, salt) ^ (salt >>> 3);
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return bits ^ (bits >>> 16);
}

/** `group`: place in `others` of the node. */
export function withOther(seen: Seen, group: number, spelled: string): Seen {
  const others = Array.from(
    { length: Math.max(seen.others.length, group + 1) },
    (_, i) => seen.others[i] ?? [],
  );
  others[group] = [...others[group]!, spelled].toSorted();
  return { ...seen, others, count: seen.count + 1 };
}

/** A key that is equal for equal sets of names. */
export function seenKey({ known, others }: Seen): string {
  const names = known === null ? '' : `${known.count}.${known.low}.${known.high}`;
  return `(${names};${others.map((group) => JSON.stringify(group)).join()})`;
}

function numbersOf({ known }: Seen): Set<number> {
  const numbers = new Set<number>();
  for (let name = known; name !== null; name = name.before) numbers.add(name.number);
  return numbers;
}

/** Names of a group that are left; told by whoever knows the automaton. */
export type Left = (group: number, used: readonly string[]) => number;

const countless: Left = () => Infinity;

/** Facts that follow from a node alone. */
interface Facts {
  required: ReadonlySet<number>;
  /** [known]: 1 where a name that must come with it cannot be. */
  dead: Uint8Array;
  /** Names that are not dead. */
  possible: number;
  depends: boolean;
  /** Names bring others with them, and a bound may leave no room for those. */
  isTight: boolean;
}

/** Known names for which all that they bring with them is weighed against a bound. */
const MOST_TIGHT = 64;

const facts = new WeakMap<ObjectNode, Facts>();

function factsOf(node: ObjectNode): Facts {
  let found = facts.get(node);
  if (found === undefined) facts.set(node, (found = findFacts(node)));
  return found;
}

function findFacts(node: ObjectNode): Facts {
  const { known, dependents, others } = node;
  const dead = new Uint8Array(known.length);
  const before: number[][] = known.map(() => []);
  const queue: number[] = [];
  dependents.forEach((list, number) => {
    for (const each of list) {
      if (each >= 0) before[each]!.push(number);
      else if (dead[number] === 0) {
        dead[number] = 1;
        queue.push(number);
      }
    }
  });
  for (let at = 0; at < queue.length; at++) {
    for (const number of before[queue[at]!]!) {
      if (dead[number] === 1) continue;
      dead[number] = 1;
      queue.push(number);
    }
  }
  const depends = dependents.some((list) => list.length > 0);
  const isTight = depends && node.max < (others.length > 0 ? Infinity : known.length);
  if (isTight && known.length > MOST_TIGHT)
    throw new TooLarge(
      `more than ${MOST_TIGHT} names that bring others with them, and a bound on their number`,
    );
  return {
    required: new Set(node.required),
    dead,
    possible: known.length - queue.length,
    depends,
    isTight,
  };
}

/** Known names that must still come, or null where one of them cannot. */
function needed(node: ObjectNode, has: ReadonlySet<number>, from: Iterable<number>): Set<number> | null {
  const need = new Set<number>();
  const queue = [...from].flatMap((number) => node.dependents[number]!);
  for (const number of node.required) queue.push(number);
  for (let at = 0; at < queue.length; at++) {
    const number = queue[at]!;
    if (number < 0) return null;
    if (has.has(number) || need.has(number)) continue;
    need.add(number);
    for (const other of node.dependents[number]!) queue.push(other);
  }
  return need;
}

/** Whether some names complete the object. */
export function canFinish(node: ObjectNode, seen: Seen, left: Left = countless): boolean {
  return finishing(node, seen, left)(null);
}

/** Whether the object can be completed once the known name of this number is there, too; null: as it is. */
function finishing(node: ObjectNode, seen: Seen, left: Left): (number: number | null) => boolean {
  const { min, max } = node;
  const { dead, possible, isTight, depends, required } = factsOf(node);
  if (min > max) return () => false;
  const has = numbersOf(seen);
  if (isTight) {
    return (number) =>
      canFinishTight(
        node,
        number === null ? has : new Set([...has, number]),
        number === null ? seen : withKnown(seen, number),
        left,
      );
  }
  const need = needed(node, has, depends ? has : []);
  if (need === null) return () => false;
  const unused = (): number =>
    node.others.reduce((sum, _, group) => sum + left(group, seen.others[group] ?? []), 0);
  const fills = seen.count + possible - has.size >= min || seen.count + possible - has.size + unused() >= min;
  return (number) => {
    if (!fills || (number !== null && dead[number] === 1)) return false;
    // Where names bring others with them, there is room for all of them.
    const isExtra = number !== null && !required.has(number);
    return depends || seen.count + need.size + Number(isExtra) <= max;
  };
}

/** Adds the cheapest known names one after the other. */
function canFinishTight(node: ObjectNode, given: ReadonlySet<number>, seen: Seen, left: Left): boolean {
  const has = new Set(given);
  const need = needed(node, has, has);
  if (need === null) return false;
  for (const number of need) has.add(number);
  let count = seen.count + need.size;
  if (count > node.max) return false;
  if (count >= node.min) return true;
  count += node.others.reduce((sum, _, group) => sum + left(group, seen.others[group] ?? []), 0);
  if (count >= node.min) return true;
  for (;;) {
    const added = cheapest(node, has);
    if (added === null) return false;
    for (const number of added) has.add(number);
    count += added.size;
    if (count > node.max) return false;
    if (count >= node.min) return true;
  }
}

/** The name that brings the fewest others with it. */
function cheapest(node: ObjectNode, has: Set<number>): Set<number> | null {
  let best: Set<number> | null = null;
  for (let number = 0; number < node.known.length; number++) {
    if (has.has(number)) continue;
    const brings = needed(node, new Set([...has, number]), [number]);
    if (brings === null) continue;
    brings.add(number);
    if (best === null || brings.size < best.size) best = brings;
    if (best.size === 1) break;
  }
  return best;
}

export function mayClose(node: ObjectNode, seen: Seen): boolean {
  if (seen.count < node.min || seen.count > node.max) return false;
  const has = numbersOf(seen);
  return needed(node, has, has)?.size === 0;
}

/** Numbers of the known names that may come next. */
export function nextKnown(node: ObjectNode, seen: Seen, left: Left): number[] {
  const has = numbersOf(seen);
  const finishes = finishing(node, seen, left);
  const found: number[] = [];
  for (let number = 0; number < node.known.length; number++) {
    if (!has.has(number) && finishes(number)) found.push(number);
  }
  return found;
}

/** Groups of other names of which one may come next. */
export function nextOthers(node: ObjectNode, seen: Seen, left: Left): number[] {
  const reduced: Left = (group, used) => left(group, used) - 1;
  return node.others.flatMap((_, group) => {
    const used = seen.others[group] ?? [];
    if (left(group, used) === 0) return [];
    const after = { ...seen, count: seen.count + 1 };
    const leftAfter: Left = (other, names) => (other === group ? reduced(other, names) : left(other, names));
    return canFinish(node, after, leftAfter) ? [group] : [];
  });
}
