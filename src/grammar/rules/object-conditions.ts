// Conditions on an object as a whole: each is met by some name with a value of a kind, or by the absence of some name. `not` and `oneOf`
// ask for them: an object is outside a schema if one of its properties breaks a rule, or a required one is missing.

/** Values of one property that meet the same conditions, as bits. */
export interface ValueKind {
  /** Index of the node, or of the term, of these values. */
  readonly value: number;
  readonly meets: number;
}

/** The names of a group that are not known one by one: the conditions met by its kinds of values, and the number of names that are left. */
export interface OpenGroup {
  readonly kinds: readonly number[];
  readonly left: number;
}

/** Some of the open names. */
export interface OpenPart {
  /** Index of the first known name that is open; left out: 0. */
  from?: number;
  /** Index of a known name that is not. */
  without?: number;
  /** Index of the group of which one name is not. */
  fewerOf?: number;
}

/** Most conditions of one object; they are kept as bits. */
export const MOST_CONDITIONS = 30;
/** Steps of work that a step of the search counts as. A search is exponential in the worst case only. */
const SEARCH_STEPS = 1000;

export const allConditions = (count: number): number => 2 ** count - 1;

/** The names of an object that can still meet conditions. */
export class OpenNames {
  readonly #known: readonly (readonly number[])[];
  readonly #others: readonly OpenGroup[];
  /** [known names + 1]: the conditions that the names from an index on and the groups can meet, as bits. */
  readonly #reach: number[];
  /** [known names + 1]: a bound on the number of conditions that the known names from an index on can meet together. */
  readonly #most: number[];

  /** `known`: for each name the conditions met by one of its kinds of values or, unless it must come, by its absence. */
  constructor(known: readonly (readonly number[])[], others: readonly OpenGroup[]) {
    this.#known = known;
    this.#others = others;
    let reach = others.reduce((all, { kinds }) => all | union(kinds), 0);
    let most = 0;
    this.#reach = [reach];
    this.#most = [most];
    for (const ways of known.toReversed()) {
      this.#reach.push((reach |= union(ways)));
      this.#most.push((most += largest(ways)));
    }
    this.#reach.reverse();
    this.#most.reverse();
  }

  /** Whether names can come or stay away so that all conditions in `unmet` are met. `spend` counts the work, and throws where it is too much. */
  canMeet(
    unmet: number,
    spend: (steps: number) => void,
    { from = 0, without = -1, fewerOf = -1 }: OpenPart = {},
  ): boolean {
    if ((unmet & ~this.#reach[from]!) !== 0) return false;
    const left = this.#others.map((group, i) => group.left - Number(i === fewerOf));
    if (count(unmet) > this.#mostOf(left, from, without)) return false;
    const taken = new Set([without]);
    const search = (missing: number): boolean => {
      if (missing === 0) return true;
      spend(SEARCH_STEPS + this.#known.length - from);
      const lowest = missing & -missing;
      for (const [group, { kinds }] of this.#others.entries()) {
        if (left[group]! <= 0) continue;
        left[group]!--;
        const found = kinds.some((kind) => (kind & lowest) !== 0 && search(missing & ~kind));
        left[group]!++;
        if (found) return true;
      }
      for (let at = from; at < this.#known.length; at++) {
        if (taken.has(at)) continue;
        taken.add(at);
        const found = this.#known[at]!.some((way) => (way & lowest) !== 0 && search(missing & ~way));
        taken.delete(at);
        if (found) return true;
      }
      return false;
    };
    return search(unmet);
  }

  /** A bound on the number of conditions that open names can meet together. `left`: the numbers of names of the groups. */
  #mostOf(left: readonly number[], from: number, without: number): number {
    const known = this.#most[from]! - largest(this.#known[without] ?? []);
    return this.#others.reduce((sum, { kinds }, i) => {
      const most = largest(kinds);
      return most === 0 ? sum : sum + most * left[i]!;
    }, known);
  }
}

const union = (ways: readonly number[]): number => ways.reduce((all, way) => all | way, 0);

const largest = (ways: readonly number[]): number =>
  ways.reduce((most, way) => Math.max(most, count(way)), 0);

/** Number of conditions in a set of bits. */
function count(bits: number): number {
  let found = 0;
  for (let left = bits; left !== 0; left &= left - 1) found++;
  return found;
}
