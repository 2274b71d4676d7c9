// How an object can continue: which names may come next, and whether it may end. A name is offered only where the object can be
// completed after it, so required names, bounds and names that run out never lead to a dead end.

import type { ObjectNode } from '../rules/compiled-grammar.ts';
import { TooLarge } from '../automata/dfa.ts';
import { knownIndices, withKnown, type NameSet } from './name-set.ts';
import { firstOpen, openNames, orderedFinishTest } from './object-order.ts';
import { areAllMet, OpenConditions } from './open-conditions.ts';

/** Number of names of a group that remain, given those that are used. */
export type Remaining = (group: number, used: readonly string[]) => number;

const unlimited: Remaining = () => Infinity;

/** Facts that follow from a node alone. */
interface Facts {
  required: ReadonlySet<number>;
  /** [known names]: 1 where a dependent name of the name is impossible. */
  impossible: Uint8Array;
  /** Number of the other known names. */
  possibleCount: number;
  hasDependents: boolean;
  /** Whether some name has dependent names for which the upper bound may leave no room. */
  isTight: boolean;
}

/** Most known names of an object that has dependent names and a tight upper bound. */
const MOST_TIGHT = 64;

const facts = new WeakMap<ObjectNode, Facts>();

function factsOf(node: ObjectNode): Facts {
  let found = facts.get(node);
  if (found === undefined) facts.set(node, (found = findFacts(node)));
  return found;
}

function findFacts(node: ObjectNode): Facts {
  const { known, dependents, others } = node;
  const impossible = impossibleNames(node);
  const hasDependents = dependents.some((list) => list.length > 0);
  const isTight = hasDependents && node.max < (others.length > 0 ? Infinity : known.length);
  if (isTight && known.length > MOST_TIGHT)
    throw new TooLarge(
      `more than ${MOST_TIGHT} names that bring others with them, and a bound on their number`,
    );
  return {
    required: new Set(node.required),
    impossible,
    possibleCount: impossible.filter((is) => is === 0).length,
    hasDependents,
    isTight,
  };
}

/** [known names]: 1 where a dependent name, directly or not, is missing from the node. */
function impossibleNames({ known, dependents }: ObjectNode): Uint8Array {
  const impossible = new Uint8Array(known.length);
  const dependsOn: number[][] = known.map(() => []);
  const queue: number[] = [];
  dependents.forEach((list, index) => {
    for (const each of list) {
      if (each >= 0) dependsOn[each]!.push(index);
      else if (impossible[index] === 0) {
        impossible[index] = 1;
        queue.push(index);
      }
    }
  });
  for (let at = 0; at < queue.length; at++) {
    for (const index of dependsOn[queue[at]!]!) {
      if (impossible[index] === 1) continue;
      impossible[index] = 1;
      queue.push(index);
    }
  }
  return impossible;
}

/**
 * Known names that must still come: required ones, and the dependents of `from`. null: one of them is impossible, or comes before `first`, the
 * first name that may still come.
 */
function missingNames(
  node: ObjectNode,
  has: ReadonlySet<number>,
  from: Iterable<number>,
  first = 0,
): Set<number> | null {
  const missing = new Set<number>();
  const queue = [...from].flatMap((index) => node.dependents[index]!);
  for (const index of node.required) queue.push(index);
  for (let at = 0; at < queue.length; at++) {
    const index = queue[at]!;
    if (index < 0) return null;
    if (has.has(index) || missing.has(index)) continue;
    if (index < first) return null;
    missing.add(index);
    for (const other of node.dependents[index]!) queue.push(other);
  }
  return missing;
}

/** Whether the object can be completed. `spend` counts the work of a search, and throws where it is too much. */
export function canFinish(node: ObjectNode, used: NameSet, spend: (steps: number) => void): boolean {
  if (!finishTest(node, used, unlimited)(null)) return false;
  return openConditions(node, used, unlimited)?.canMeet(spend) ?? true;
}

/** The conditions of an object as it is; null: it has none. */
export function openConditions(node: ObjectNode, used: NameSet, remaining: Remaining): OpenConditions | null {
  const left = (group: number): number => remaining(group, used.others[group] ?? []);
  return node.conditions && new OpenConditions(node, node.conditions, used, left);
}

/** A test whether the object can be completed once it has the known name of an index, too; null: as it is. */
function finishTest(
  node: ObjectNode,
  used: NameSet,
  remaining: Remaining,
): (index: number | null) => boolean {
  const { min, max, ordered } = node;
  const { impossible, possibleCount, isTight, hasDependents, required } = factsOf(node);
  const others = (): number => remainingOthers(node, used, remaining);
  if (ordered > 0 && !hasDependents) return orderedFinishTest(node, used, others);
  if (min > max) return () => false;
  const has = knownIndices(used);
  if (isTight || ordered > 0) {
    return (index) =>
      canFinishTight(
        node,
        index === null ? has : new Set([...has, index]),
        index === null ? used : withKnown(used, index),
        remaining,
      );
  }
  const missing = missingNames(node, has, hasDependents ? has : []);
  if (missing === null) return () => false;
  const possible = used.count + possibleCount - has.size;
  const reachesMin = possible >= min || possible + others() >= min;
  return (index) => {
    if (!reachesMin || (index !== null && impossible[index] === 1)) return false;
    // An object with dependent names that is not tight has room for all of them.
    const isExtra = index !== null && !required.has(index);
    return hasDependents || used.count + missing.size + Number(isExtra) <= max;
  };
}

/** Number of names that remain in all groups. */
function remainingOthers(node: ObjectNode, used: NameSet, remaining: Remaining): number {
  return node.others.reduce((sum, _, group) => sum + remaining(group, used.others[group] ?? []), 0);
}

/**
 * Result of finishTest for a node with dependent names whose upper bound is tight, or whose names are ordered: adds the name with the fewest
 * dependents until `min` is reached.
 */
function canFinishTight(
  node: ObjectNode,
  given: ReadonlySet<number>,
  used: NameSet,
  remaining: Remaining,
): boolean {
  const has = new Set(given);
  const first = firstOpen(node, used);
  const missing = missingNames(node, has, has, first);
  if (missing === null) return false;
  for (const index of missing) has.add(index);
  let count = used.count + missing.size;
  if (count > node.max) return false;
  if (count >= node.min) return true;
  count += remainingOthers(node, used, remaining);
  if (count >= node.min) return true;
  for (;;) {
    const added = smallestAddition(node, has, first);
    if (added === null) return false;
    for (const index of added) has.add(index);
    count += added.size;
    if (count > node.max) return false;
    if (count >= node.min) return true;
  }
}

/** The name with the fewest dependents that are not there yet, and those. */
function smallestAddition(node: ObjectNode, has: Set<number>, first: number): Set<number> | null {
  let best: Set<number> | null = null;
  for (let index = first; index < node.known.length; index++) {
    if (has.has(index)) continue;
    const addition = missingNames(node, new Set([...has, index]), [index], first);
    if (addition === null) continue;
    addition.add(index);
    if (best === null || addition.size < best.size) best = addition;
    if (best.size === 1) break;
  }
  return best;
}

/** Whether the object is complete as it is. */
export function mayClose(node: ObjectNode, used: NameSet): boolean {
  if (used.count < node.min || used.count > node.max) return false;
  const has = knownIndices(used);
  return missingNames(node, has, has)?.size === 0 && areAllMet(node, used);
}

/** Indices of the known names that may come next, as far as conditions do not decide. */
export function nextKnown(node: ObjectNode, used: NameSet, remaining: Remaining): number[] {
  const has = knownIndices(used);
  const finishes = finishTest(node, used, remaining);
  return openNames(node, firstOpen(node, used)).filter((index) => !has.has(index) && finishes(index));
}

/** Groups of other names of which one may come next, as far as conditions do not decide. */
export function nextOthers(node: ObjectNode, used: NameSet, remaining: Remaining): number[] {
  return node.others.flatMap((_, group) => {
    if (remaining(group, used.others[group] ?? []) === 0) return [];
    const after = { ...used, count: used.count + 1 };
    const remainingAfter: Remaining = (other, names) =>
      other === group ? remaining(other, names) - 1 : remaining(other, names);
    return finishTest(node, after, remainingAfter)(null) ? [group] : [];
  });
}
