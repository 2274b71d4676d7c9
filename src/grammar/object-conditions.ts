// Conditions on an object as a whole: each is met by some name with a value of a kind, or by the absence of some name. `not` and `oneOf`
// ask for them: an object is outside a schema if one of its properties breaks a rule, or a required one is missing.

import { TooLarge } from './dfa.ts';

/** Values of one property that meet the same conditions, as bits. */
export interface ValueKind {
  /** Index of the node, or of the term, of these values. */
  readonly value: number;
  readonly meets: number;
}

/** The names of an object that can still meet conditions. */
export interface OpenNames {
  /** For each known name that may still come: the conditions met by its kinds of values and by its absence; null: it must come. */
  readonly known: readonly { readonly kinds: readonly number[]; readonly absent: number | null }[];
  /** For each group of other names: the conditions met by its kinds of values, and the number of names that are left. */
  readonly others: readonly { readonly kinds: readonly number[]; readonly left: number }[];
}

/** Most conditions of one object; they are kept as bits. */
export const MOST_CONDITIONS = 30;
/** Most steps of one search; a search is exponential in the worst case only. */
const MOST_STEPS = 20_000;

export const allConditions = (count: number): number => 2 ** count - 1;

/** Whether names can still come or stay away so that all conditions in `unmet` are met. Throws TooLarge where the search takes too long. */
export function canMeet(unmet: number, open: OpenNames): boolean {
  const taken = new Set<number>();
  const left = open.others.map((group) => group.left);
  let steps = 0;
  const search = (missing: number): boolean => {
    if (missing === 0) return true;
    if (++steps > MOST_STEPS)
      throw new TooLarge('conditions on one object that exclude each other in too many ways');
    const lowest = missing & -missing;
    for (const [group, { kinds }] of open.others.entries()) {
      if (left[group] === 0) continue;
      const meets = kinds.filter((kind) => (kind & lowest) !== 0);
      if (meets.length === 0) continue;
      left[group]!--;
      const found = meets.some((kind) => search(missing & ~kind));
      left[group]!++;
      if (found) return true;
    }
    for (const [at, { kinds, absent }] of open.known.entries()) {
      if (taken.has(at)) continue;
      const ways = absent === null ? kinds : [absent, ...kinds];
      const meets = ways.filter((way) => (way & lowest) !== 0);
      if (meets.length === 0) continue;
      taken.add(at);
      const found = meets.some((way) => search(missing & ~way));
      taken.delete(at);
      if (found) return true;
    }
    return false;
  };
  return search(unmet);
}
