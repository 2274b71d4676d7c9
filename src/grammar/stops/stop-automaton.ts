// Stops as automata that read a text a character at a time and never go back. Of an expression all ways to match are followed at once,
// each by where it began. After every character the text is judged as if it ended there, so that `$` and `\b` hold at its end.

import { EngineError } from '../../files/error.ts';
import { quote } from '../regex.ts';
import { WORD } from '../unicode.ts';
import { CONDITIONS, type StopTable } from './stop-table.ts';

export interface StopAutomaton {
  /** The stop string, or the pattern. */
  readonly stop: string;
  /** Takes a character in; where a match that ends with it begins, the first of several; -1: there is none. Places count UTF-16 units. */
  step(code: number): number;
  /** Where the first of what may still become a match begins; Infinity: nothing may. */
  readonly open: number;
}

/** Every text must be new to its automaton: one for each choice, by `begin`. */
export type StopAutomata = { begin(): StopAutomaton };

/** States in the order in which their matches began, and where. */
interface Ways {
  count: number;
  states: Int32Array;
  began: Int32Array;
}

/** The characters on both sides of a place; null: the text begins or ends there. */
interface Place {
  before: number | null;
  after: number | null;
}

/** Throws bad_request for what matches the empty text. */
export function stopPattern(table: StopTable, param: string): StopAutomata {
  const walk = createWalk(table);
  const first = waysOf(table);
  walk.clear();
  walk.add(first, table.start, 0);
  if (walk.end(first, { before: null, after: null }) >= 0) {
    const problem = 'matches the empty text: let it match at least one character';
    throw new EngineError('bad_request', `the stop expression ${quote(table.stop)} ${problem}`, { param });
  }
  return { begin: () => automaton(table, walk) };
}

function automaton({ stop, start, goesOn }: StopTable, walk: Walk): StopAutomaton {
  let ways = waysOf({ goesOn });
  let next = waysOf({ goesOn });
  let at = 0;
  let before: number | null = null;
  return {
    stop,
    step(code) {
      walk.clear();
      for (let i = 0; i < ways.count; i++) walk.mark(ways.states[i]!);
      walk.add(ways, start, at);
      walk.take(ways, { before, after: code }, next);
      [ways, next] = [next, ways];
      at += code > 0xffff ? 2 : 1;
      before = code;
      return walk.end(ways, { before, after: null });
    },
    get open() {
      for (let i = 0; i < ways.count; i++) if (goesOn[ways.states[i]!]) return ways.began[i]!;
      return Infinity;
    },
  };
}

const waysOf = ({ goesOn: { length } }: Pick<StopTable, 'goesOn'>): Ways => ({
  count: 0,
  states: new Int32Array(length),
  began: new Int32Array(length),
});

/** What automata of one expression share: none of it outlasts a step. */
interface Walk {
  /** No state has been come to. */
  clear(): void;
  mark(state: number): void;
  /** Unless it has been come to before, when the match began earlier. */
  add(ways: Ways, state: number, began: number): void;
  /** What a character makes of the ways. */
  take(ways: Ways, place: Place & { after: number }, next: Ways): void;
  /** Where the first match began that is complete; -1: none is. */
  end(ways: Ways, place: Place): number;
}

function createWalk(table: StopTable): Walk {
  const { final, skipFrom, skipTo, skipIf, edgeFrom, edgeTo, edgeSet, mayEnd } = table;
  const reached = waysOf(table);
  /** States that have been come to have the turn's number. */
  const seen = new Int32Array(mayEnd.length);
  let turn = 0;
  const contains = createSets(table);

  const clear = (): void => void turn++;
  const add = (ways: Ways, state: number, began: number): void => {
    if (seen[state] === turn) return;
    seen[state] = turn;
    ways.states[ways.count] = state;
    ways.began[ways.count++] = began;
  };
  /** The states of the ways, and those that lie before the next character. Since first ones come first, each is looked at once. */
  const reach = (ways: Ways, place: Place, wanted: Uint8Array | null): void => {
    const holding = CONDITIONS.map((condition) => condition === null || holds(condition, place));
    clear();
    reached.count = 0;
    for (let i = 0; i < ways.count; i++) {
      let from = reached.count;
      if (wanted === null || wanted[ways.states[i]!]) add(reached, ways.states[i]!, ways.began[i]!);
      for (; from < reached.count; from++) {
        const state = reached.states[from]!;
        for (let skip = skipFrom[state]!; skip < skipFrom[state + 1]!; skip++) {
          const to = skipTo[skip]!;
          if (holding[skipIf[skip]!] && (wanted === null || wanted[to])) add(reached, to, ways.began[i]!);
        }
      }
    }
  };

  return {
    clear,
    mark: (state) => void (seen[state] = turn),
    add,
    take(ways, place, next) {
      reach(ways, place, null);
      clear();
      contains.turn(place.after);
      next.count = 0;
      for (let i = 0; i < reached.count; i++) {
        const state = reached.states[i]!;
        for (let edge = edgeFrom[state]!; edge < edgeFrom[state + 1]!; edge++)
          if (contains.set(edgeSet[edge]!)) add(next, edgeTo[edge]!, reached.began[i]!);
      }
    },
    end(ways, place) {
      reach(ways, place, mayEnd);
      const at = seen[final] === turn ? reached.states.subarray(0, reached.count).indexOf(final) : -1;
      return at < 0 ? -1 : reached.began[at]!;
    },
  };
}

/** Whether sets have a character: asked once of each, however many edges have it. */
function createSets({ setFrom, ranges }: StopTable): {
  turn(code: number): void;
  set(set: number): boolean;
} {
  const asked = new Int32Array(setFrom.length);
  const has = new Uint8Array(setFrom.length);
  let turn = 0;
  let code = 0;
  return {
    turn(next) {
      turn++;
      code = next;
    },
    set(set) {
      if (asked[set] !== turn) {
        asked[set] = turn;
        has[set] = Number(contains(ranges, setFrom[set]!, setFrom[set + 1]!, code));
      }
      return has[set] === 1;
    },
  };
}

function holds(assertion: (typeof CONDITIONS)[number], { before, after }: Place): boolean {
  if (assertion === 'start') return before === null;
  if (assertion === 'end') return after === null;
  const boundary = isWord(before) !== isWord(after);
  return assertion === 'wordBoundary' ? boundary : !boundary;
}

function isWord(code: number | null): boolean {
  return code !== null && contains(WORD, 0, WORD.length, code);
}

/** Sorted, not overlapping ranges from place `from` to `to`: first, last, first, last … */
function contains(ranges: ArrayLike<number>, from: number, to: number, code: number): boolean {
  let low = from / 2;
  let high = to / 2 - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (code < ranges[2 * middle]!) high = middle - 1;
    else if (code > ranges[2 * middle + 1]!) low = middle + 1;
    else return true;
  }
  return false;
}
