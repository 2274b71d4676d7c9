// What an object may still hold: which names may come next, and whether it may end. A name is offered only where the object
// can be finished after it, so that required names, bounds and names that run out never lead into a dead end.

import type { ObjectNode } from './program.ts';

/** The names an object has so far. */
export interface Seen {
  /** Numbers of known names, ascending. */
  known: readonly number[];
  /** How they were spelled; of each group of other names. Ascending. */
  others: readonly (readonly string[])[];
  count: number;
}

export const EMPTY: Seen = { known: [], others: [], count: 0 };

export function withKnown(seen: Seen, number: number): Seen {
  return {
    ...seen,
    known: [...seen.known, number].toSorted((a, b) => a - b),
    count: seen.count + 1,
  };
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

/** Names of a group that are left; told by whoever knows the automaton. */
export type Left = (group: number, used: readonly string[]) => number;

const countless: Left = () => Infinity;

/** Known names that must still come, or null where one of them cannot. */
function needed(node: ObjectNode, has: Set<number>, from: Iterable<number>): Set<number> | null {
  const need = new Set<number>();
  const queue = [...from].flatMap((number) => node.dependents[number]!);
  queue.push(...node.required);
  for (let at = 0; at < queue.length; at++) {
    const number = queue[at]!;
    if (number < 0) return null;
    if (has.has(number) || need.has(number)) continue;
    need.add(number);
    queue.push(...node.dependents[number]!);
  }
  return need;
}

/** Whether some names complete the object, by adding the cheapest known ones one after the other. */
export function canFinish(node: ObjectNode, seen: Seen, left: Left = countless): boolean {
  const has = new Set(seen.known);
  const need = needed(node, has, has);
  if (need === null || node.min > node.max) return false;
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
  const has = new Set(seen.known);
  return needed(node, has, has)?.size === 0;
}

/** Numbers of the known names that may come next. */
export function nextKnown(node: ObjectNode, seen: Seen, left: Left): number[] {
  const has = new Set(seen.known);
  const found: number[] = [];
  for (let number = 0; number < node.known.length; number++) {
    if (!has.has(number) && canFinish(node, withKnown(seen, number), left)) found.push(number);
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
