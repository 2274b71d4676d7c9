// DFA minimization by Hopcroft's partition refinement, in O(states × classes × log states).

import { NOTHING, NO_CLASS, type Dfa, type RawDfa } from './dfa-table.ts';

/** Table entries read between two calls of `check`. */
const CHECK_INTERVAL = 20_000;

/** The minimal trimmed DFA. `check` is called at intervals; it throws where the time is over. */
export function minimize(raw: RawDfa, check: () => void): Dfa {
  const live = liveStates(raw);
  if (!live.includes(0)) return NOTHING;
  check();
  const blockOf = refine(raw, live, check);
  check();
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
function refine({ classCount, next, accept }: RawDfa, live: number[], check: () => void): Int32Array {
  const count = live.length + 1;
  const place = new Int32Array(accept.length).fill(live.length);
  live.forEach((state, i) => (place[state] = i));
  const before = predecessors(classCount, next, live, place);

  const members = Int32Array.from({ length: count }, (_, i) => i);
  const blockOf = new Int32Array(count);
  const isAccepting = (i: number): boolean => i < live.length && Boolean(accept[live[i]!]);
  members.sort((a, b) => Number(isAccepting(a)) - Number(isAccepting(b)));
  const where = new Int32Array(count);
  members.forEach((i, at) => (where[i] = at));
  const firstAccepting = members.findIndex(isAccepting);
  const from = [0, firstAccepting];
  const to = [firstAccepting, count];
  for (let at = firstAccepting; at < count; at++) blockOf[members[at]!] = 1;

  const waiting = [0, 1];
  const marked: number[] = [0, 0]; // members of each block that were moved to its front
  let unchecked = 0;
  while (waiting.length > 0) {
    const splitter = waiting.pop()!;
    const states = members.slice(from[splitter], to[splitter]);
    unchecked += (states.length + 1) * classCount;
    if (unchecked > CHECK_INTERVAL) {
      check();
      unchecked = 0;
    }
    for (let c = 0; c < classCount; c++) {
      const touched: number[] = [];
      for (const state of states) {
        const row = state * classCount + c;
        for (let at = before.from[row]!; at < before.from[row + 1]!; at++) {
          const origin = before.states[at]!;
          const block = blockOf[origin]!;
          const front = from[block]! + marked[block]!;
          if (where[origin]! < front) continue;
          if (marked[block]!++ === 0) touched.push(block);
          const other = members[front]!;
          members[where[origin]!] = other;
          where[other] = where[origin]!;
          members[front] = origin;
          where[origin] = front;
        }
      }
      for (const block of touched) {
        const cut = from[block]! + marked[block]!;
        marked[block] = 0;
        if (cut === to[block]!) continue;
        const made = from.length;
        const frontIsSmaller = cut - from[block]! < to[block]! - cut;
        from.push(frontIsSmaller ? from[block]! : cut);
        to.push(frontIsSmaller ? cut : to[block]!);
        if (frontIsSmaller) from[block] = cut;
        else to[block] = cut;
        marked.push(0);
        for (let at = from[made]!; at < to[made]!; at++) blockOf[members[at]!] = made;
        // Splitting by the smaller half suffices where the other half has been a splitter.
        waiting.push(made);
      }
    }
  }
  return blockOf;
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
