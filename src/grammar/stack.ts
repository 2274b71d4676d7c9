// What is still to come, as a stack of items shared by all that have it in common. Stacks are never changed: to go back is to
// keep an old one, to fork costs nothing. Equal items, stacks and states are one object, so that what was worked out is found again.

import type { Seen } from './object-state.ts';
import { CELL_WORK, type Work } from './work.ts';

/** The top of a stack; null below the last. */
export interface Cell {
  readonly id: number;
  readonly item: Item;
  readonly below: Cell | null;
  readonly above: Map<Item, Cell>;
  readonly arena: Arena;
  /** What it comes to before the next byte, once worked out. */
  opened: Opened | null;
}

export type Item =
  | { key: string; kind: 'bottom' }
  /** Any of several stacks; nothing is below it but them. */
  | { key: string; kind: 'union'; of: readonly Cell[] }
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
  union(of: readonly Cell[]): Cell;
  state(leaves: Iterable<Cell>, ends: boolean): State;
  /** Stacks and states made. */
  readonly size: number;
}

/** `work` counts what is made. */
export function createArena(work: Work): Arena {
  const items = new Map<string, Item>();
  const states = new Map<string, State>();
  let cells = 0;
  const cell = (item: Item, below: Cell | null): Cell => {
    work.spend(CELL_WORK);
    return { id: cells++, item, below, above: new Map(), arena, opened: null };
  };
  const unions = new Map<string, Cell>();
  const keyOf = (sorted: readonly Cell[]): string => sorted.map(({ id }) => id).join();
  const unionOf = (of: readonly Cell[], level: number): Cell => {
    const parts = byId(of.flatMap((one) => (one.item.kind === 'union' ? one.item.of : one)));
    work.spend((of.length + parts.length) * CELL_WORK);
    const key = keyOf(parts);
    let found = unions.get(key);
    if (!found) {
      // What has the same top is one stack again, on a union further down.
      const joined = byId(
        [...groupedByItem(parts)].flatMap(([item, alike]) =>
          alike.length === 1 || level === MOST_LEVELS
            ? alike
            : arena.push(
                unionOf(
                  alike.map(({ below }) => below!),
                  level + 1,
                ),
                item,
              ),
        ),
      );
      const item = (): Item => arena.item({ key: `u${keyOf(joined)}`, kind: 'union', of: joined });
      unions.set(key, (found = joined.length === 1 ? joined[0]! : arena.push(bottom, item())));
    }
    return found;
  };
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
    union: (of) => unionOf(of, 0),
    state(leaves, ends) {
      const sorted = byId(joined(new Set(leaves), arena));
      const key = `${ends} ${keyOf(sorted)}`;
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

/** Stacks with the same top that a state keeps apart. */
const MOST_ALIKE = 8;
/** Levels down to which their unions have no two stacks with the same top. */
const MOST_LEVELS = 500;

/** Of many stacks with the same top one is made, which stands on all that were below: a text may mean very many things at once. */
function joined(leaves: ReadonlySet<Cell>, arena: Arena): Cell[] {
  if (leaves.size <= MOST_ALIKE) return [...leaves];
  return [...groupedByItem(leaves)].flatMap(([item, alike]) =>
    alike.length > MOST_ALIKE ? arena.push(arena.union(alike.map(({ below }) => below!)), item) : alike,
  );
}

function groupedByItem(cells: Iterable<Cell>): Map<Item, Cell[]> {
  const groups = new Map<Item, Cell[]>();
  for (const cell of cells) {
    const alike = groups.get(cell.item);
    if (alike) alike.push(cell);
    else groups.set(cell.item, [cell]);
  }
  return groups;
}

const byId = (cells: Iterable<Cell>): Cell[] => [...new Set(cells)].toSorted((a, b) => a.id - b.id);

/** The same state in another arena. */
export function moveState(state: State, to: Arena): State {
  const found = new Set(state.leaves);
  for (const { item, below } of found) {
    if (below) found.add(below);
    if (item.kind === 'union') item.of.forEach((cell) => found.add(cell));
  }
  const moved = new Map<Cell, Cell>();
  const of = (cell: Cell): Cell => moved.get(cell)!;
  // What a cell stands on was made before it.
  for (const cell of [...found].toSorted((a, b) => a.id - b.id)) {
    const { item, below } = cell;
    if (below === null) moved.set(cell, to.bottom);
    else if (item.kind === 'union') moved.set(cell, to.union(item.of.map(of)));
    else moved.set(cell, to.push(of(below), to.item(item)));
  }
  return to.state(state.leaves.map(of), state.ends);
}
