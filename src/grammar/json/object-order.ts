// Objects whose first known names come in their order, with all other names after them: which names are still open, and what they can complete.

import type { ObjectNode } from '../rules/compiled-grammar.ts';
import { knownIndices, type NameSet } from './name-set.ts';

/** Index of the first known name that may still come. The ordered names that an object has were added in ascending order. */
export function firstOpen({ ordered }: ObjectNode, { known, count }: NameSet): number {
  if (count > (known?.count ?? 0)) return ordered;
  return known === null ? 0 : Math.min(known.index + 1, ordered);
}

/** Indices of the known names that may come next, as far as their order and the required ones among them decide. */
export function openNames(node: ObjectNode, first: number): number[] {
  const { known, ordered, required } = node;
  const must = required.reduce((least, index) => (index >= first ? Math.min(least, index) : least), ordered);
  const indices: number[] = [];
  for (let index = first; index < ordered && index <= must; index++) indices.push(index);
  if (must === ordered) for (let index = ordered; index < known.length; index++) indices.push(index);
  return indices;
}

/**
 * A test whether an ordered object without dependent names can be completed once it has one more of the open names, too; null: as it is.
 * `others`: names that remain in all groups.
 */
export function orderedFinishTest(
  node: ObjectNode,
  used: NameSet,
  others: () => number,
): (index: number | null) => boolean {
  const { known, ordered, required, min, max } = node;
  if (min > max || required.includes(-1)) return () => false;
  const has = knownIndices(used);
  const first = firstOpen(node, used);
  const after = [...has].filter((index) => index >= ordered).length;
  const missing = required.filter((index) => !has.has(index)).toSorted((a, b) => a - b);
  const isMissing = new Set(missing);
  const [lowest = Infinity, second = Infinity] = missing;
  return (index) => {
    const next = index === null ? first : Math.min(index + 1, ordered);
    if ((index === lowest ? second : lowest) < next) return false;
    const isAfter = index !== null && index >= ordered;
    const count = used.count + Number(index !== null);
    const stillMissing = missing.length - Number(index !== null && isMissing.has(index));
    if (count + stillMissing > max) return false;
    const possible = count + known.length - next - after - Number(isAfter);
    return possible >= min || possible + others() >= min;
  };
}
