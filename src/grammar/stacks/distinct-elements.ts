// The elements of arrays in which no two may be equal. Each element is read by an automaton of its own, whose state is kept with the text
// so far: once the text is complete, its value is compared with those before it. An element that may still become equal to one of
// them goes on only where another value remains, so that no text is a dead end.

import type { CompiledGrammar, DistinctNode } from '../rules/compiled-grammar.ts';
import type { DistinctSymbol, ElementSymbol, ParserState, StackArena } from './graph-stack.ts';
import { valueOfBytes, type Json } from '../json/json-value.ts';
import { canDiffer, type SearchedAutomaton } from './other-value.ts';
import { UsedValues } from '../json/used-values.ts';
import { mayBecome } from '../json/value-prefix.ts';

/** The automaton of an element. */
export interface DistinctAutomaton extends SearchedAutomaton {
  readonly bytes: number;
  start(): ParserState;
  /** Whether infinitely many texts complete a state; false also for a few states where they do. */
  isEndless(state: ParserState): boolean;
  /** Begins the count of work for a byte. */
  readonly budget: { begin(): void };
}

interface Started<A> {
  automaton: A;
  state: ParserState;
}

export class DistinctElements<A extends DistinctAutomaton> {
  readonly #grammar: CompiledGrammar;
  readonly #create: (start: number) => A;
  /** By the element's node. */
  readonly #started = new Map<number, Started<A>>();
  readonly #none = new UsedValues();
  /** Whether another element is left, by node and used values. */
  readonly #left = new WeakMap<UsedValues, Map<number, boolean>>();
  #made = 0;

  /** `create` makes the automaton that begins with a node. */
  constructor(grammar: CompiledGrammar, create: (start: number) => A) {
    this.#grammar = grammar;
    this.#create = create;
  }

  /** Approximate bytes of the automata. */
  get bytes(): number {
    return [...this.#started.values()].reduce((sum, { automaton }) => sum + automaton.bytes, 0);
  }

  /** The array before its first element. */
  first(arena: StackArena, node: number): DistinctSymbol {
    return arraySymbol(arena, node, 'first', this.#none);
  }

  mayClose({ node, used }: DistinctSymbol): boolean {
    return used.size >= this.#node(node).min;
  }

  /** The next element before its first byte; null: there is none. */
  next(arena: StackArena, { node, used }: DistinctSymbol): ElementSymbol | null {
    const element = this.#elementOf(node, used);
    if (element < 0 || !this.#isLeft(node, used)) return null;
    const { state } = this.#startedAt(element);
    const key = `e${node}.${used.id}.`;
    return this.#symbol(arena, { key, node, used, spelled: '', inner: state, similar: used.values });
  }

  /** The element after a byte; null: no element begins so, or only those that are used. */
  advance(arena: StackArena, symbol: ElementSymbol, byte: number): ElementSymbol | null {
    const automaton = this.automatonOf(symbol);
    automaton.budget.begin();
    const inner = automaton.step(symbol.inner, byte);
    if (inner === null) return null;
    const { node, used } = symbol;
    const spelled = symbol.spelled + String.fromCharCode(byte);
    const similar = this.similarAfter(symbol, byte);
    if (similar.length > 0 && !this.#canDiffer(automaton, inner, spelled, used)) return null;
    return this.#symbol(arena, { key: `e${symbol.id}.${byte}`, node, used, spelled, inner, similar });
  }

  /** The elements that the element may still become equal to after a byte. */
  similarAfter({ similar, spelled }: ElementSymbol, byte: number): readonly Json[] {
    if (similar.length === 0) return similar;
    const begun = spelled + String.fromCharCode(byte);
    return similar.filter((value) => mayBecome(begun, value));
  }

  /** The array after an element that is complete with further bytes; null: its value is used. */
  after(arena: StackArena, { node, used, spelled }: ElementSymbol, further = ''): DistinctSymbol | null {
    const all = used.with(valueOfBytes(spelled + further));
    return all && arraySymbol(arena, node, 'next', all);
  }

  automatonOf({ node, used }: ElementSymbol): A {
    return this.#startedAt(this.#elementOf(node, used)).automaton;
  }

  /** Whether an element can be completed to a value that is not used. */
  #canDiffer(automaton: A, inner: ParserState, spelled: string, used: UsedValues): boolean {
    return automaton.isEndless(inner) || canDiffer(automaton, inner, spelled, used.texts);
  }

  #isLeft(node: number, used: UsedValues): boolean {
    if (used.size === 0) return true;
    let byNode = this.#left.get(used);
    if (byNode === undefined) this.#left.set(used, (byNode = new Map<number, boolean>()));
    let isLeft = byNode.get(node);
    if (isLeft === undefined) {
      const { automaton, state } = this.#startedAt(this.#elementOf(node, used));
      automaton.budget.begin();
      byNode.set(node, (isLeft = this.#canDiffer(automaton, state, '', used)));
    }
    return isLeft;
  }

  #node(index: number): DistinctNode {
    return this.#grammar.nodes[index] as DistinctNode;
  }

  /** Node of the next element; -1: the array is full. */
  #elementOf(index: number, { size }: UsedValues): number {
    const { prefix, rest, max } = this.#node(index);
    return size < max ? (prefix[size] ?? rest) : -1;
  }

  #startedAt(element: number): Started<A> {
    let found = this.#started.get(element);
    if (found === undefined) {
      const automaton = this.#create(element);
      this.#started.set(element, (found = { automaton, state: automaton.start() }));
    }
    return found;
  }

  #symbol(arena: StackArena, parts: Omit<ElementSymbol, 'kind' | 'id'>): ElementSymbol {
    return arena.symbol({ ...parts, kind: 'element', id: ++this.#made });
  }
}

function arraySymbol(
  arena: StackArena,
  node: number,
  at: DistinctSymbol['at'],
  used: UsedValues,
): DistinctSymbol {
  return arena.symbol({ key: `d${node}${at}${used.id}`, kind: 'distinct', node, at, used });
}
