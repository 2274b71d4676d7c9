// What an array may still hold: a next element, and of which kind, is offered only where the array can be finished after it.

import type { ArrayNode, ElementNode } from './program.ts';

function elementAt(node: ArrayNode, index: number): ElementNode | null {
  return node.prefix[index] ?? node.rest;
}

/** Whether an array of so many elements, so many of them matching `contains`, can become complete. */
export function canFinish(node: ArrayNode, count: number, matched: number): boolean {
  const { min, max, contains, prefix } = node;
  const least = contains?.min ?? 0;
  const most = contains?.max ?? Infinity;
  let fewest = matched; // matching elements that cannot be avoided
  let possible = matched;
  // Beyond the prefix all elements are alike, and more than these add nothing.
  const end = Math.max(min, prefix.length, count) + least;
  for (let length = count; length <= Math.min(max, end); length++) {
    if (fewest > most) return false;
    if (length >= min && possible >= least) return true;
    const element = elementAt(node, length);
    if (element === null) return false;
    if (contains === null) continue;
    if (element.other < 0) fewest++;
    if (element.matching >= 0) possible++;
  }
  return false;
}

export function mayClose({ min, max, contains }: ArrayNode, count: number, matched: number): boolean {
  if (count < min || count > max) return false;
  return contains === null || (matched >= contains.min && matched <= contains.max);
}

/** Nodes the next element may be, each with the count of matching elements after it. */
export function nextElements(
  node: ArrayNode,
  count: number,
  matched: number,
): { value: number; matched: number }[] {
  const element = elementAt(node, count);
  if (element === null) return [];
  const sides =
    node.contains === null
      ? [{ value: element.matching, matched }]
      : [
          { value: element.matching, matched: matched + 1 },
          { value: element.other, matched },
        ];
  return sides.filter(({ value, matched: after }) => value >= 0 && canFinish(node, count + 1, after));
}

/** Counts beyond which nothing changes any more: states stay few. */
export function saturate(
  node: ArrayNode,
  count: number,
  matched: number,
): { count: number; matched: number } {
  const counts = node.max === Infinity ? Math.max(node.min, node.prefix.length) : Infinity;
  const matches = node.contains === null ? 0 : node.contains.max === Infinity ? node.contains.min : Infinity;
  return { count: Math.min(count, counts), matched: Math.min(matched, matches) };
}
