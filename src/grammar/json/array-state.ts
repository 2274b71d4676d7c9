// How an array can continue: an element, matching `contains` or not, is offered only where the array can be completed after it.

import type { ArrayNode, ElementNode } from '../rules/compiled-grammar.ts';

function elementAt(node: ArrayNode, index: number): ElementNode | null {
  return node.prefix[index] ?? node.rest;
}

/** Whether an array of `count` elements, `matched` of which match `contains`, can be completed. */
export function canFinish(node: ArrayNode, count: number, matched: number): boolean {
  const { min, max, contains, prefix } = node;
  const least = contains?.min ?? 0;
  const most = contains?.max ?? Infinity;
  let fewest = matched; // matching elements, if as few as possible match
  let greatest = matched; // matching elements, if as many as possible match
  // Elements after the prefix are alike, so a longer array than this cannot be completed either.
  const end = Math.max(min, prefix.length, count) + least;
  for (let length = count; length <= Math.min(max, end); length++) {
    if (fewest > most) return false;
    if (length >= min && greatest >= least) return true;
    const element = elementAt(node, length);
    if (element === null) return false;
    if (contains === null) continue;
    if (element.other < 0) fewest++;
    if (element.matching >= 0) greatest++;
  }
  return false;
}

/** Whether the array is complete as it is. */
export function mayClose({ min, max, contains }: ArrayNode, count: number, matched: number): boolean {
  if (count < min || count > max) return false;
  return contains === null || (matched >= contains.min && matched <= contains.max);
}

/** Nodes of the next element, each with the number of matching elements after it. */
export function nextElements(
  node: ArrayNode,
  count: number,
  matched: number,
): { value: number; matched: number }[] {
  const element = elementAt(node, count);
  if (element === null) return [];
  const kinds =
    node.contains === null
      ? [{ value: element.matching, matched }]
      : [
          { value: element.matching, matched: matched + 1 },
          { value: element.other, matched },
        ];
  return kinds.filter(({ value, matched: after }) => value >= 0 && canFinish(node, count + 1, after));
}

/** Caps counts at the value beyond which the continuations are equal, so that states stay few. */
export function saturate(
  node: ArrayNode,
  count: number,
  matched: number,
): { count: number; matched: number } {
  const mostCount = node.max === Infinity ? Math.max(node.min, node.prefix.length) : Infinity;
  const mostMatched =
    node.contains === null ? 0 : node.contains.max === Infinity ? node.contains.min : Infinity;
  return { count: Math.min(count, mostCount), matched: Math.min(matched, mostMatched) };
}
