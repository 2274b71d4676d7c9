// The graph-structured stack of the pushdown automaton: all stacks that a text so far can mean, with shared lower parts. Entries are
// immutable: to return is to keep an old entry, and a fork costs nothing. Equal symbols, entries and states are one object within
// an arena, so what was computed for them is found again.

import type { UsedValues } from '../json/used-values.ts';
import type { Json } from '../json/json-value.ts';
import type { NameSet } from '../json/name-set.ts';
import { NODE_STEPS, type WorkBudget } from '../bounds/work-budget.ts';

/** A stack, by its topmost entry. */
export interface StackEntry {
  readonly id: number;
  readonly symbol: StackSymbol;
  /** null: the entry is the bottom. */
  readonly below: StackEntry | null;
  /** Entries that were pushed onto this one. */
  readonly pushed: Map<StackSymbol, StackEntry>;
  readonly arena: StackArena;
  /** The epsilon closure, once computed. */
  closure: Closure | null;
}

/** A part of the text that remains to be matched. Symbols with equal keys are equal. */
export type StackSymbol =
  | { key: string; kind: 'bottom' }
  /** A union of the stacks `of`. */
  | { key: string; kind: 'union'; of: readonly StackEntry[] }
  /** A whole node of the compiled grammar. */
  | { key: string; kind: 'node'; node: number }
  /** The rest of a lexeme in a state. */
  | LexemeSymbol
  | { key: string; kind: 'token'; id: number }
  /** The rest of a repetition after `done` repeats. */
  | { key: string; kind: 'repeat'; node: number; done: number }
  | ObjectSymbol
  | NameSymbol
  | ArraySymbol
  | DistinctSymbol
  | ElementSymbol;

export interface LexemeSymbol {
  key: string;
  kind: 'lexeme';
  lexeme: number;
  state: number;
}

/** The rest of an object: before its first name or its end, after a value, or before a name. */
export interface ObjectSymbol {
  key: string;
  kind: 'object';
  node: number;
  at: 'first' | 'next' | 'name';
  used: NameSet;
}

/** The rest of a property name that is not a known one. */
export interface NameSymbol {
  key: string;
  kind: 'name';
  node: number;
  group: number;
  used: NameSet;
  /** Bytes read so far, one per UTF-16 unit. */
  spelled: string;
  lexeme: number;
  state: number;
}

/** The rest of an array after `count` elements, `matched` of which match `contains`. */
export interface ArraySymbol {
  key: string;
  kind: 'array';
  node: number;
  at: 'first' | 'next';
  count: number;
  matched: number;
}

/** The rest of an array of which no two elements are equal. */
export interface DistinctSymbol {
  key: string;
  kind: 'distinct';
  node: number;
  at: 'first' | 'next';
  used: UsedValues;
}

/** The rest of an element that must differ from those before it. An automaton of its own reads it. */
export interface ElementSymbol {
  key: string;
  kind: 'element';
  /** Distinguishes symbols in keys. */
  id: number;
  /** Index of the array's node. */
  node: number;
  used: UsedValues;
  /** Bytes read so far, one per UTF-16 unit. */
  spelled: string;
  /** State of the element's automaton. */
  inner: ParserState;
  /** The elements before it that it may still become equal to. */
  similar: readonly Json[];
}

/** The stacks that can take the next byte or token: each has a terminal on top. */
export interface Closure {
  readonly tops: readonly StackEntry[];
  /** Whether the whole text is a match. */
  readonly accepts: boolean;
}

/** A state of the pushdown automaton. */
export interface ParserState extends Closure {
  /** Next states by byte; null: no match begins so. */
  readonly next: Map<number, ParserState | null>;
  readonly arena: StackArena;
}

/** Entries with the same top symbol that a state keeps apart. */
const MOST_ALIKE = 8;
/** Levels down to which the unions of joined stacks are joined in turn. */
const MOST_LEVELS = 500;

/** Owns symbols, entries and states, and makes each once. */
export class StackArena {
  readonly bottom: StackEntry;
  readonly #budget: WorkBudget;
  readonly #symbols = new Map<string, StackSymbol>();
  readonly #states = new Map<string, ParserState>();
  readonly #unions = new Map<string, StackEntry>();
  #entries = 0;

  /** `budget` pays for every entry. */
  constructor(budget: WorkBudget) {
    this.#budget = budget;
    this.bottom = this.#entry({ key: '', kind: 'bottom' }, null);
  }

  /** Number of entries and states. */
  get size(): number {
    return this.#entries + this.#states.size;
  }

  symbol<T extends StackSymbol>(symbol: T): T {
    const known = this.#symbols.get(symbol.key);
    if (known) return known as T;
    this.#symbols.set(symbol.key, symbol);
    return symbol;
  }

  push(below: StackEntry, symbol: StackSymbol): StackEntry {
    let found = below.pushed.get(symbol);
    if (!found) below.pushed.set(symbol, (found = this.#entry(symbol, below)));
    return found;
  }

  /** Returns an entry that represents the union of the stacks. */
  union(of: readonly StackEntry[]): StackEntry {
    return this.#union(of, 0);
  }

  state(tops: Iterable<StackEntry>, accepts: boolean): ParserState {
    const sorted = byId(this.#joined(new Set(tops)));
    const key = `${accepts} ${keyOf(sorted)}`;
    let state = this.#states.get(key);
    if (!state) this.#states.set(key, (state = { tops: sorted, accepts, next: new Map(), arena: this }));
    return state;
  }

  #entry(symbol: StackSymbol, below: StackEntry | null): StackEntry {
    this.#budget.spend(NODE_STEPS);
    return { id: this.#entries++, symbol, below, pushed: new Map(), arena: this, closure: null };
  }

  #union(of: readonly StackEntry[], level: number): StackEntry {
    const parts = byId(of.flatMap((one) => (one.symbol.kind === 'union' ? one.symbol.of : one)));
    this.#budget.spend((of.length + parts.length) * NODE_STEPS);
    const key = keyOf(parts);
    let found = this.#unions.get(key);
    if (!found) this.#unions.set(key, (found = this.#makeUnion(parts, level)));
    return found;
  }

  /** Stacks with the same top become one, on the union of what is below them. */
  #makeUnion(parts: readonly StackEntry[], level: number): StackEntry {
    const joined = byId(
      [...groupedBySymbol(parts)].flatMap(([symbol, alike]) => {
        if (alike.length === 1 || level === MOST_LEVELS) return alike;
        const below = alike.map((entry) => entry.below!);
        return this.push(this.#union(below, level + 1), symbol);
      }),
    );
    if (joined.length === 1) return joined[0]!;
    return this.push(this.bottom, this.symbol({ key: `u${keyOf(joined)}`, kind: 'union', of: joined }));
  }

  /** Joins many stacks with the same top, so that a text with very many readings keeps few stacks. */
  #joined(tops: ReadonlySet<StackEntry>): StackEntry[] {
    if (tops.size <= MOST_ALIKE) return [...tops];
    return [...groupedBySymbol(tops)].flatMap(([symbol, alike]) =>
      alike.length > MOST_ALIKE ? this.push(this.union(alike.map(({ below }) => below!)), symbol) : alike,
    );
  }
}

function keyOf(sorted: readonly StackEntry[]): string {
  return sorted.map(({ id }) => id).join();
}

function byId(entries: Iterable<StackEntry>): StackEntry[] {
  return [...new Set(entries)].toSorted((a, b) => a.id - b.id);
}

function groupedBySymbol(entries: Iterable<StackEntry>): Map<StackSymbol, StackEntry[]> {
  const groups = new Map<StackSymbol, StackEntry[]>();
  for (const entry of entries) {
    const alike = groups.get(entry.symbol);
    if (alike) alike.push(entry);
    else groups.set(entry.symbol, [entry]);
  }
  return groups;
}

/** A copy of a state in another arena. */
export function moveState(state: ParserState, to: StackArena): ParserState {
  const found = new Set(state.tops);
  for (const { symbol, below } of found) {
    if (below) found.add(below);
    if (symbol.kind === 'union') symbol.of.forEach((entry) => found.add(entry));
  }
  const moved = new Map<StackEntry, StackEntry>();
  const of = (entry: StackEntry): StackEntry => moved.get(entry)!;
  // Entries were made after those below them.
  for (const entry of [...found].toSorted((a, b) => a.id - b.id)) {
    const { symbol, below } = entry;
    if (below === null) moved.set(entry, to.bottom);
    else if (symbol.kind === 'union') moved.set(entry, to.union(symbol.of.map(of)));
    else moved.set(entry, to.push(of(below), to.symbol(symbol)));
  }
  return to.state(state.tops.map(of), state.accepts);
}
