// The conditions of an object in one of its states: which are met by the names that it has, and whether others can follow, or stay away, so
// that all are met.

import type { ConditionsNode, ObjectNode } from '../rules/compiled-grammar.ts';
import { knownIndices, type NameSet } from './name-set.ts';
import { allConditions, OpenNames, type ValueKind } from '../rules/object-conditions.ts';
import { firstOpen } from './object-order.ts';

/** A known name that matters to conditions. */
interface MeetingName {
  index: number;
  /** The conditions that its absence meets. */
  absent: number;
  /** The conditions that one of its kinds of values meets or, unless it must come, its absence. */
  ways: readonly number[];
}

const meetingNames = new WeakMap<ConditionsNode, MeetingName[]>();

/** The names that matter, in ascending order; of an object with thousands of names they may be few. */
function namesThatMeet({ required }: ObjectNode, conditions: ConditionsNode): MeetingName[] {
  let found = meetingNames.get(conditions);
  if (found === undefined) {
    const must = new Set(required);
    found = conditions.known.flatMap((kinds, index) => {
      const meets = kinds.map((kind) => kind.meets);
      const absent = conditions.absent[index]!;
      const ways = must.has(index) ? meets : [absent, ...meets];
      return absent !== 0 || ways.some((way) => way !== 0) ? [{ index, absent, ways }] : [];
    });
    meetingNames.set(conditions, found);
  }
  return found;
}

/** Whether all conditions are met if no further name comes. */
export function areAllMet(node: ObjectNode, used: NameSet): boolean {
  const { conditions } = node;
  if (conditions === null) return true;
  const has = knownIndices(used);
  const met = namesThatMeet(node, conditions).reduce(
    (all, { index, absent }) => (has.has(index) ? all : all | absent),
    used.met | conditions.given,
  );
  return (allConditions(conditions.count) & ~met) === 0;
}

export class OpenConditions {
  readonly #node: ObjectNode;
  readonly #conditions: ConditionsNode;
  readonly #open: MeetingName[] = [];
  /** [open names + 1]: the conditions that the absence of the names before an index meets. */
  readonly #skipped = [0];
  /** Index of the first open name that comes in any order. */
  readonly #unordered: number;
  readonly #names: OpenNames;
  /** The conditions that are met neither by the names that the object has nor by those that can no longer come. */
  readonly #unmet: number;

  /** `left`: the number of names of a group that remain. */
  constructor(node: ObjectNode, conditions: ConditionsNode, used: NameSet, left: (group: number) => number) {
    this.#node = node;
    this.#conditions = conditions;
    const has = knownIndices(used);
    const first = firstOpen(node, used);
    let met = used.met | conditions.given;
    for (const name of namesThatMeet(node, conditions)) {
      if (has.has(name.index)) continue;
      if (name.index < first) met |= name.absent;
      else {
        this.#open.push(name);
        this.#skipped.push(this.#skipped.at(-1)! | name.absent);
      }
    }
    this.#unmet = allConditions(conditions.count) & ~met;
    this.#unordered = this.#placeOf(node.ordered);
    this.#names = new OpenNames(
      this.#open.map(({ ways }) => ways),
      conditions.others.map((kinds, group) => ({
        kinds: kinds.map(({ meets }) => meets),
        left: left(group),
      })),
    );
  }

  /** Whether all conditions can be met. */
  canMeet(spend: (steps: number) => void): boolean {
    return this.#names.canMeet(this.#unmet, spend);
  }

  /** The kinds of values that a known name may have next. */
  kindsOfKnown(index: number, spend: (steps: number) => void): ValueKind[] {
    const place = this.#placeOf(index);
    const isOpen = this.#open[place]?.index === index;
    const isOrdered = index < this.#node.ordered;
    const part = isOrdered
      ? { from: place + Number(isOpen) }
      : { from: this.#unordered, ...(isOpen && { without: place }) };
    const unmet = this.#unmet & ~this.#skipped[isOrdered ? place : this.#unordered]!;
    return this.#conditions.known[index]!.filter(({ meets }) =>
      this.#names.canMeet(unmet & ~meets, spend, part),
    );
  }

  /** The kinds of values that a further name of a group may have. */
  kindsOfOther(group: number, spend: (steps: number) => void): ValueKind[] {
    const unmet = this.#unmet & ~this.#skipped[this.#unordered]!;
    const part = { from: this.#unordered, fewerOf: group };
    return this.#conditions.others[group]!.filter(({ meets }) =>
      this.#names.canMeet(unmet & ~meets, spend, part),
    );
  }

  /** Number of open names with a lower index. */
  #placeOf(index: number): number {
    let [low, high] = [0, this.#open.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#open[middle]!.index < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
