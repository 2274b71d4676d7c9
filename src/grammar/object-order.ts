// Objects whose known names come in their order, with all other names after them: which names are still open, and what they can complete.

import type { ObjectNode } from './compiled-grammar.ts';
import type { NameSet } from './name-set.ts';

/** Index of the first known name that may still come. The known names that an ordered object has were added in ascending order. */
export function firstOpen(node: ObjectNode, used: NameSet): number {
  if (used.others.some((names) => names.length > 0)) return node.known.length;
  return (used.known?.index ?? -1) + 1;
}

/** Index of the last known name that may come next: the first one that must come. */
export function lastOpen({ known, required }: ObjectNode, first: number): number {
  return required.reduce((last, index) => (index >= first ? Math.min(last, index) : last), known.length - 1);
}

/**
 * A test whether an ordered object can be completed once it has the known name of an index, too; null: as it is. `others`: names that remain in
 * all groups.
 */
export function orderedFinishTest(
  node: ObjectNode,
  used: NameSet,
  others: () => number,
): (index: number | null) => boolean {
  const { known, required, min, max } = node;
  const first = firstOpen(node, used);
  const last = lastOpen(node, first);
  if (required.includes(-1) || min > max) return () => false;
  return (index) => {
    if (index !== null && (index < first || index > last)) return false;
    const next = index === null ? first : index + 1;
    const count = used.count + Number(index !== null);
    if (count + required.filter((each) => each >= next).length > max) return false;
    const possible = count + known.length - next;
    return possible >= min || possible + others() >= min;
  };
}

/** Whether one of the other names may come next in an ordered object. `others`: the names that remain after it. */
export function mayTakeOther(node: ObjectNode, used: NameSet, others: () => number): boolean {
  const first = firstOpen(node, used);
  if (node.required.some((index) => index < 0 || index >= first)) return false;
  const count = used.count + 1;
  return count <= node.max && (count >= node.min || count + others() >= node.min);
}
