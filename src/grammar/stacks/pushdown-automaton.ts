// Runs a compiled grammar over bytes, as a nondeterministic pushdown automaton on a graph-structured stack. A state is the set of all
// stacks that the text so far can mean; a byte leads to the next state or to none. Every state leads to a complete text, since the
// grammar has no unproductive nodes, and objects and arrays offer only what they can complete.

import type { CompiledGrammar } from '../rules/compiled-grammar.ts';
import { DistinctElements } from './distinct-elements.ts';
import { EndlessStacks } from './endless-stacks.ts';
import {
  moveState,
  StackArena,
  type Closure,
  type ElementSymbol,
  type NameSymbol,
  type ParserState,
  type StackEntry,
  type StackSymbol,
} from './graph-stack.ts';
import { advance, canContinue, isComplete } from '../lexemes/lexeme-state.ts';
import type { Lexeme } from '../lexemes/lexeme.ts';
import { PropertyNames } from '../json/property-names.ts';
import { lexemeSymbol, nameSymbol, nodeSymbol, StackExpansion } from './stack-expansion.ts';
import { NODE_STEPS, WorkBudget } from '../bounds/work-budget.ts';

/** Entries and states after which a new arena begins. */
const MOST_KEPT = 150_000;
/** Approximate bytes of one of them. */
const ENTRY_BYTES = 400;

const REJECTED: Closure = { tops: [], accepts: false };

export class PushdownAutomaton {
  /** The budget of the mask or token that is being computed. */
  readonly budget = new WorkBudget();
  readonly #start: number;
  readonly #lexemes: Lexeme[];
  readonly #expansion: StackExpansion;
  readonly #endless: EndlessStacks;
  /** The arrays whose elements must differ. */
  readonly elements: DistinctElements<PushdownAutomaton>;
  #arena = new StackArena(this.budget);

  /** `available`: 1 for each byte that is a token by itself. */
  constructor(grammar: CompiledGrammar, available: Uint8Array) {
    this.#start = grammar.start;
    this.#lexemes = [...grammar.lexemes];
    const lexemes = this.#lexemes;
    const names = new PropertyNames(grammar, { lexemes, available, budget: this.budget });
    this.elements = new DistinctElements(
      grammar,
      (start) => new PushdownAutomaton({ ...grammar, start }, available),
    );
    this.#expansion = new StackExpansion(grammar, names, this.elements);
    this.#endless = new EndlessStacks({
      grammar,
      lexemes,
      names,
      isElementEndless: (element) => this.elements.automatonOf(element).isEndless(element.inner),
    });
  }

  /** Approximate bytes of the stacks and states. */
  get bytes(): number {
    return this.#arena.size * ENTRY_BYTES + this.elements.bytes;
  }

  start(): ParserState {
    const arena = this.#arena;
    return this.#join(arena, [this.closure(arena.push(arena.bottom, nodeSymbol(arena, this.#start)))])!;
  }

  /** The state after a byte; null: no match begins so. */
  step(given: ParserState, byte: number): ParserState | null {
    const known = given.next.get(byte);
    if (known !== undefined) return known;
    const state = this.#current(given);
    const next = this.#join(
      state.arena,
      state.tops.map((top) => this.#take(top, byte)),
    );
    given.next.set(byte, next);
    return next;
  }

  /** The state after a token that the grammar names by its id; null: no match begins so. */
  stepToken(given: ParserState, id: number): ParserState | null {
    const state = this.#current(given);
    const closures = state.tops.flatMap(({ symbol, below }) =>
      symbol.kind === 'token' && symbol.id === id ? [this.closure(below!)] : [],
    );
    return this.#join(state.arena, closures);
  }

  /** The epsilon closure of a stack: the stacks it stands for that can take the next byte or token. */
  closure(entry: StackEntry): Closure {
    if (entry.closure) return entry.closure;
    const tops: StackEntry[] = [];
    let accepts = false;
    const seen = new Set([entry]);
    for (const each of seen) {
      this.budget.spend(NODE_STEPS);
      const { symbol } = each;
      if (symbol.kind === 'bottom') accepts = true;
      else if (symbol.kind === 'token' || symbol.kind === 'name') tops.push(each);
      else if (symbol.kind === 'element') {
        if (symbol.inner.tops.length > 0) tops.push(each);
        const after = symbol.inner.accepts ? this.afterElement(each.below!, symbol) : null;
        if (after !== null) seen.add(after);
      } else if (symbol.kind === 'lexeme') {
        const lexeme = this.#lexemes[symbol.lexeme]!;
        if (canContinue(lexeme, symbol.state)) tops.push(each);
        if (isComplete(lexeme, symbol.state)) seen.add(each.below!);
      } else for (const next of this.#expansion.expand(each)) seen.add(next);
    }
    return (entry.closure = { tops, accepts });
  }

  lexemeOf(symbol: { lexeme: number }): Lexeme {
    return this.#lexemes[symbol.lexeme]!;
  }

  /** See StackExpansion.afterName. */
  afterName(below: StackEntry, name: NameSymbol, spelled: string): StackEntry | null {
    return this.#expansion.afterName(below, name, spelled);
  }

  /** The rest of the array after an element that is complete with further bytes; null: its value occurs before. */
  afterElement(below: StackEntry, element: ElementSymbol, further?: string): StackEntry | null {
    const after = this.elements.after(below.arena, element, further);
    return after && below.arena.push(below, after);
  }

  /** Whether infinitely many texts complete a state; false also for a few states where they do. */
  isEndless(state: ParserState): boolean {
    return this.#endless.has(state);
  }

  /** Whether a byte can follow, as far as the top of a stack tells. */
  takes(symbol: StackSymbol, byte: number): boolean {
    if (symbol.kind === 'element') {
      const automaton = this.elements.automatonOf(symbol);
      return symbol.inner.tops.some((top) => automaton.takes(top.symbol, byte));
    }
    if (symbol.kind !== 'lexeme' && symbol.kind !== 'name') return false;
    return advance(this.lexemeOf(symbol), symbol.state, byte) >= 0;
  }

  /** Whether a name is an element of a set, which no colon follows. */
  isInSet({ node }: NameSymbol): boolean {
    return this.#expansion.isSet(node);
  }

  /** The closure of one stack after a byte. */
  #take(top: StackEntry, byte: number): Closure {
    const { symbol, arena } = top;
    const below = top.below!;
    if (symbol.kind === 'element') {
      const next = this.elements.advance(arena, symbol, byte);
      return next === null ? REJECTED : this.closure(arena.push(below, next));
    }
    if (symbol.kind !== 'lexeme' && symbol.kind !== 'name') return REJECTED;
    const lexeme = this.#lexemes[symbol.lexeme]!;
    const state = advance(lexeme, symbol.state, byte);
    if (state < 0) return REJECTED;
    if (symbol.kind === 'lexeme')
      return this.closure(arena.push(below, lexemeSymbol(arena, symbol.lexeme, state)));
    const spelled = symbol.spelled + String.fromCharCode(byte);
    if (!isComplete(lexeme, state)) {
      const { node, group, used } = symbol;
      const rest = nameSymbol(arena, { node, group, used, spelled, lexeme: symbol.lexeme, state });
      return { tops: [arena.push(below, rest)], accepts: false };
    }
    const after = this.afterName(below, symbol, spelled);
    return after ? this.closure(after) : REJECTED;
  }

  /** The state of several closures; null where all are empty. */
  #join(arena: StackArena, closures: readonly Closure[]): ParserState | null {
    const all = new Set<StackEntry>();
    let accepts = false;
    for (const closure of closures) {
      this.budget.spend(closure.tops.length * NODE_STEPS);
      for (const top of closure.tops) all.add(top);
      accepts ||= closure.accepts;
    }
    return all.size === 0 && !accepts ? null : arena.state(all, accepts);
  }

  /** The state in an arena with room: a full arena is replaced, and its states are moved as they are used. */
  #current(state: ParserState): ParserState {
    if (this.#arena.size > MOST_KEPT) this.#arena = new StackArena(this.budget);
    return state.arena.size > MOST_KEPT ? moveState(state, this.#arena) : state;
  }
}
