// DFA minimization by Hopcroft's partition refinement, in O(states × classes × log states).

import type { CompileWork } from '../bounds/compile-work.ts';
import { NOTHING, NO_CLASS, type Dfa, type RawDfa } from './dfa-table.ts';

/** Steps that an entry of the table counts as in the passes over the whole table. */
const ENTRY_STEPS = 8;
/** Steps that a range of characters counts as. */
const RANGE_STEPS = 5;

/** The minimal trimmed DFA. Throws TooLarge where the work exceeds its limit. */
export function minimize(raw: RawDfa, work: CompileWork): Dfa {
  work.spend(ENTRY_STEPS * raw.next.length + RANGE_STEPS * raw.starts.length);
  const live = liveStates(raw);
  if (!live.includes(0)) return NOTHING;
  const blockOf = refine(raw, live, work);
  const { next, accept } = quotient(raw, live, blockOf);
  return joinClasses(raw, next, accept);
}

/** States that are reachable and lead to an accepting state. */
function liveStates({ classCount, next, accept }: RawDfa): number[] {
  const count = accept.length;
  const reached = new Uint8Array(count);
  const before: number[][] = Array.from({ length: count }, () => []);
  const queue = count > 0 ? [0] : [];
  if (count > 0) reached[0] = 1;
  for (let at = 0; at < queue.length; at++) {
    const state = queue[at]!;
    for (let c = 0; c < classCount; c++) {
      const to = next[state * classCount + c]!;
      if (to < 0) continue;
      before[to]!.push(state);
      if (reached[to] === 0) {
        reached[to] = 1;
        queue.push(to);
      }
    }
  }
  const useful = new Uint8Array(count);
  const back = queue.filter((state) => accept[state]);
  for (const state of back) useful[state] = 1;
  for (let at = 0; at < back.length; at++) {
    for (const state of before[back[at]!]!) {
      if (useful[state] === 1) continue;
      useful[state] = 1;
      back.push(state);
    }
  }
  return queue.filter((state) => useful[state] === 1);
}

/** [live states + 1]: block of each state, by its index in `live`. The last entry is the sink, which stands for missing transitions. */
function refine({ classCount, next, accept }: RawDfa, live: number[], work: CompileWork): Int32Array {
  const sink = live.length;
  const indexOf = new Int32Array(accept.length).fill(sink);
  live.forEach((state, i) => (indexOf[state] = i));
  const sources = predecessors(classCount, next, live, indexOf);
  const partition = new Partition(sink + 1, (i) => i < sink && Boolean(accept[live[i]!]));
  const splitters = [0, 1];
  while (splitters.length > 0) {
    const states = partition.membersOf(splitters.pop()!);
    work.spend((states.length + 1) * classCount);
    for (let c = 0; c < classCount; c++) {
      let marked = 0;
      for (const state of states) {
        const row = state * classCount + c;
        const end = sources.from[row + 1]!;
        for (let at = sources.from[row]!; at < end; at++) partition.mark(sources.states[at]!);
        marked += end - sources.from[row]!;
      }
      work.spend(marked);
      // Splitting by the smaller half suffices where the other half has been a splitter.
      partition.splitMarked(splitters);
    }
  }
  return partition.blockOf;
}

/** A partition of the indices from 0 on into blocks, each a range of `members`. */
class Partition {
  /** [indices]: the block of each index. */
  readonly blockOf: Int32Array;
  readonly #members: Int32Array;
  /** [indices]: place of each index in `members`. */
  readonly #place: Int32Array;
  /** [blocks]: range of `members`. */
  readonly #from: number[];
  readonly #to: number[];
  /** [blocks]: number of marked members, which are moved to the front of the block. */
  readonly #marked: number[] = [0, 0];
  /** Blocks with marked members. */
  #touched: number[] = [];

  /** Two blocks: the indices for which `isSecond` holds are the second. */
  constructor(count: number, isSecond: (index: number) => boolean) {
    this.#members = Int32Array.from({ length: count }, (_, i) => i);
    this.#members.sort((a, b) => Number(isSecond(a)) - Number(isSecond(b)));
    this.#place = new Int32Array(count);
    this.#members.forEach((index, at) => (this.#place[index] = at));
    const cut = this.#members.findIndex(isSecond);
    this.#from = [0, cut];
    this.#to = [cut, count];
    this.blockOf = new Int32Array(count);
    for (let at = cut; at < count; at++) this.blockOf[this.#members[at]!] = 1;
  }

  membersOf(block: number): Int32Array {
    return this.#members.slice(this.#from[block], this.#to[block]);
  }

  mark(index: number): void {
    const members = this.#members;
    const place = this.#place;
    const block = this.blockOf[index]!;
    const front = this.#from[block]! + this.#marked[block]!;
    const at = place[index]!;
    if (at < front) return;
    if (this.#marked[block]!++ === 0) this.#touched.push(block);
    const other = members[front]!;
    members[at] = other;
    place[other] = at;
    members[front] = index;
    place[index] = front;
  }

  /** Splits the blocks of which some members are marked; the smaller half is a new block, which is added to `made`. */
  splitMarked(made: number[]): void {
    const { blockOf } = this;
    const [from, to, marked, members] = [this.#from, this.#to, this.#marked, this.#members];
    for (const block of this.#touched) {
      const cut = from[block]! + marked[block]!;
      marked[block] = 0;
      if (cut === to[block]!) continue;
      const isFrontSmaller = cut - from[block]! < to[block]! - cut;
      const added = from.push(isFrontSmaller ? from[block]! : cut) - 1;
      to.push(isFrontSmaller ? cut : to[block]!);
      if (isFrontSmaller) from[block] = cut;
      else to[block] = cut;
      marked.push(0);
      for (let at = from[added]!; at < to[added]!; at++) blockOf[members[at]!] = added;
      made.push(added);
    }
    this.#touched = [];
  }
}

/** The inverse transitions: [live states + sink][classes], the states that lead there. */
function predecessors(
  classCount: number,
  next: ArrayLike<number>,
  live: number[],
  place: Int32Array,
): { from: Int32Array; states: Int32Array } {
  const sink = live.length;
  const target = (i: number, c: number): number => {
    const to = next[live[i]! * classCount + c]!;
    return to < 0 ? sink : place[to]!;
  };
  const from = new Int32Array((sink + 1) * classCount + 1);
  for (let i = 0; i < live.length; i++) {
    for (let c = 0; c < classCount; c++) from[target(i, c) * classCount + c + 1]!++;
  }
  for (let c = 0; c < classCount; c++) from[sink * classCount + c + 1]!++;
  for (let row = 0; row + 1 < from.length; row++) from[row + 1]! += from[row]!;
  const states = new Int32Array(from.at(-1)!);
  const fill = from.slice();
  for (let i = 0; i < live.length; i++) {
    for (let c = 0; c < classCount; c++) states[fill[target(i, c) * classCount + c]!++] = i;
  }
  for (let c = 0; c < classCount; c++) states[fill[sink * classCount + c]!++] = sink;
  return { from, states };
}

/** The automaton with one state per block, numbered in breadth-first order from the start. */
function quotient(
  { classCount, next, accept }: RawDfa,
  live: number[],
  blockOf: Int32Array,
): { next: number[]; accept: number[] } {
  const place = new Map(live.map((state, i) => [state, i]));
  const numbers = new Map<number, number>();
  const first: number[] = [];
  const number = (state: number): number => {
    const i = state < 0 ? undefined : place.get(state);
    if (i === undefined) return -1;
    let found = numbers.get(blockOf[i]!);
    if (found === undefined) {
      numbers.set(blockOf[i]!, (found = first.length));
      first.push(state);
    }
    return found;
  };
  number(0);
  const table: number[] = [];
  for (let at = 0; at < first.length; at++) {
    for (let c = 0; c < classCount; c++) table.push(number(next[first[at]! * classCount + c]!));
  }
  return { next: table, accept: first.map((state) => Number(accept[state])) };
}

function joinClasses(raw: RawDfa, next: number[], accept: number[]): Dfa {
  const { classCount } = raw;
  const columns = new Map<string, number>();
  const kept: number[] = [];
  const joined = Array.from({ length: classCount }, (_, c) => {
    const column = accept.map((_unused, state) => next[state * classCount + c]!);
    if (column.every((to) => to < 0)) return NO_CLASS;
    const key = column.join();
    let number = columns.get(key);
    if (number === undefined) {
      columns.set(key, (number = kept.length));
      kept.push(c);
    }
    return number;
  });
  const starts: number[] = [];
  const classes: number[] = [];
  for (let i = 0; i < raw.starts.length; i++) {
    const old = raw.classes[i]!;
    const number = old === NO_CLASS ? NO_CLASS : joined[old]!;
    if (classes.at(-1) === number) continue;
    starts.push(raw.starts[i]!);
    classes.push(number);
  }
  return {
    starts: Uint32Array.from(starts),
    classes: Uint16Array.from(classes),
    classCount: kept.length,
    next: Int32Array.from(accept.flatMap((_, state) => kept.map((c) => next[state * classCount + c]!))),
    accept: Uint8Array.from(accept),
  };
}
