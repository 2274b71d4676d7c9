// What is still to come, as a stack of items shared by all that have it in common. Stacks are never changed: to go back is to
// keep an old one, to fork costs nothing. Equal items, stacks and states are one object, so that what was worked out is found again.

import type { Seen } from './object-state.ts';

/** The top of a stack; null below the last. */
export interface Cell {
  readonly id: number;
  /** Cells below it. */
  readonly depth: number;
  readonly item: Item;
  readonly below: Cell | null;
  readonly above: Map<Item, Cell>;
  readonly arena: Arena;
  /** What it comes to before the next byte, once worked out. */
  opened: Opened | null;
}

export type Item =
  | { key: string; kind: 'bottom' }
  /** A node of the program, all of it. */
  | { key: string; kind: 'node'; node: number }
  /** Within a lexeme. */
  | { key: string; kind: 'lexeme'; lexeme: number; state: number }
  | { key: string; kind: 'token'; id: number }
  | { key: string; kind: 'repeat'; node: number; done: number }
  | ObjectItem
  | OtherName
  | { key: string; kind: 'array'; node: number; at: 'first' | 'next'; count: number; matched: number };

/** Before a first name or the end, after a value, or before a name. */
export interface ObjectItem {
  key: string;
  kind: 'object';
  node: number;
  at: 'first' | 'next' | 'name';
  seen: Seen;
}

/** Within a name that is not known. */
export interface OtherName {
  key: string;
  kind: 'name';
  node: number;
  group: number;
  seen: Seen;
  /** What is there already, a character a byte. */
  spelled: string;
  /** In the group's lexeme, or in `own` where used names are taken away. */
  lexeme: number;
  state: number;
}

/** Alternatives, each with something that takes a byte or token on top. */
export interface Opened {
  leaves: readonly Cell[];
  /** The whole text may end. */
  ends: boolean;
}

export interface State extends Opened {
  /** Next states by byte; null: no way on. */
  readonly next: Map<number, State | null>;
  readonly arena: Arena;
}

/** Where items, stacks and states are one object each. */
export interface Arena {
  readonly bottom: Cell;
  item<T extends Item>(item: T): T;
  push(below: Cell, item: Item): Cell;
  state(leaves: Iterable<Cell>, ends: boolean): State;
  /** Stacks and states made. */
  readonly size: number;
}

export function createArena(): Arena {
  const items = new Map<string, Item>();
  const states = new Map<string, State>();
  let cells = 0;
  const cell = (item: Item, below: Cell | null): Cell => ({
    id: cells++,
    depth: below === null ? 0 : below.depth + 1,
    item,
    below,
    above: new Map(),
    arena,
    opened: null,
  });
  const arena: Arena = {
    get bottom() {
      return bottom;
    },
    item<T extends Item>(item: T): T {
      const known = items.get(item.key);
      if (known) return known as T;
      items.set(item.key, item);
      return item;
    },
    push(below, item) {
      let found = below.above.get(item);
      if (!found) below.above.set(item, (found = cell(item, below)));
      return found;
    },
    state(leaves, ends) {
      const sorted = fewOfEach([...new Set(leaves)].toSorted((a, b) => a.depth - b.depth || a.id - b.id));
      const key = `${ends} ${sorted.map(({ id }) => id).join()}`;
      let state = states.get(key);
      if (!state) states.set(key, (state = { leaves: sorted, ends, next: new Map(), arena }));
      return state;
    },
    get size() {
      return cells + states.size;
    },
  };
  const bottom = cell({ key: '', kind: 'bottom' }, null);
  return arena;
}

/** Stacks with the same top that a state keeps. Only grammars of which a text can mean very many things at once have more. */
const MOST_ALIKE = 32;

/** The shortest: to leave readings out makes no text valid that is not, and those left can still be finished. */
function fewOfEach(leaves: Cell[]): Cell[] {
  if (leaves.length <= MOST_ALIKE) return leaves;
  const counts = new Map<Item, number>();
  return leaves.filter(({ item }) => {
    const count = counts.get(item) ?? 0;
    counts.set(item, count + 1);
    return count < MOST_ALIKE;
  });
}

/** The same state in another arena. */
export function moveState(state: State, to: Arena): State {
  const moved = (cell: Cell): Cell => {
    const items: Item[] = [];
    for (let at: Cell = cell; at.below !== null; at = at.below) items.push(at.item);
    return items.reduceRight((below, item) => to.push(below, to.item(item)), to.bottom);
  };
  return to.state(state.leaves.map(moved), state.ends);
}
