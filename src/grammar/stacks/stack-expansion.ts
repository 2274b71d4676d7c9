// The predictions of the pushdown automaton: the stacks that a stack stands for whose top symbol is not a terminal, without taking a byte.

import type { DistinctElements, DistinctAutomaton } from './distinct-elements.ts';
import * as arrays from '../json/array-state.ts';
import type {
  ArrayNode,
  CompiledGrammar,
  ObjectNode,
  Punctuation,
  RepeatNode,
} from '../rules/compiled-grammar.ts';
import type {
  ArraySymbol,
  DistinctSymbol,
  LexemeSymbol,
  NameSymbol,
  ObjectSymbol,
  StackArena,
  StackEntry,
  StackSymbol,
} from './graph-stack.ts';
import { NO_NAMES, nameSetKey, withKnown, withOther, type NameSet } from '../json/name-set.ts';
import * as objects from '../json/object-state.ts';
import type { PropertyNames } from '../json/property-names.ts';

export class StackExpansion {
  readonly #grammar: CompiledGrammar;
  readonly #names: PropertyNames;
  readonly #elements: DistinctElements<DistinctAutomaton>;

  constructor(grammar: CompiledGrammar, names: PropertyNames, elements: DistinctElements<DistinctAutomaton>) {
    this.#grammar = grammar;
    this.#names = names;
    this.#elements = elements;
  }

  /** The stacks that an entry stands for, one step on; [] where its top symbol is a terminal or the bottom. */
  expand({ symbol, below, arena }: StackEntry): readonly StackEntry[] {
    switch (symbol.kind) {
      case 'union':
        return symbol.of;
      case 'node':
        return this.#expandNode(arena, below!, symbol.node);
      case 'repeat':
        return this.#expandRepeat(arena, below!, symbol.node, symbol.done);
      case 'object':
        return this.#expandObject(arena, below!, symbol);
      case 'array':
        return this.#expandArray(arena, below!, symbol);
      case 'distinct':
        return this.#expandDistinct(arena, below!, symbol);
      default:
        return [];
    }
  }

  #expandNode(arena: StackArena, below: StackEntry, index: number): StackEntry[] {
    const node = this.#grammar.nodes[index]!;
    switch (node.kind) {
      case 'lexeme':
        return [arena.push(below, lexemeSymbol(arena, node.lexeme, 0))];
      case 'token':
        return [arena.push(below, arena.symbol({ key: `t${node.id}`, kind: 'token', id: node.id }))];
      case 'sequence':
        return [node.nodes.reduceRight((at, each) => arena.push(at, nodeSymbol(arena, each)), below)];
      case 'choice':
        return node.nodes.map((each) => arena.push(below, nodeSymbol(arena, each)));
      case 'repeat':
        return [arena.push(below, repeatSymbol(arena, index, 0))];
      case 'object': {
        const rest = arena.push(below, objectSymbol(arena, index, 'first', NO_NAMES));
        return [this.#punctuate(arena, rest, node.isSet ? 'openArray' : 'openObject')];
      }
      case 'array': {
        const rest = arena.push(below, this.#arraySymbol(arena, index, 'first', 0, 0));
        return [this.#punctuate(arena, rest, 'openArray')];
      }
      case 'distinct':
        return [this.#punctuate(arena, arena.push(below, this.#elements.first(arena, index)), 'openArray')];
    }
  }

  #expandRepeat(arena: StackArena, below: StackEntry, index: number, done: number): StackEntry[] {
    const node = this.#grammar.nodes[index] as RepeatNode;
    const found: StackEntry[] = [];
    if (done >= node.min) found.push(below);
    if (done < node.max) {
      const after = node.max === Infinity ? Math.min(done + 1, node.min) : done + 1;
      const rest = arena.push(below, repeatSymbol(arena, index, after));
      found.push(arena.push(rest, nodeSymbol(arena, node.node)));
    }
    return found;
  }

  #expandArray(arena: StackArena, below: StackEntry, symbol: ArraySymbol): StackEntry[] {
    const { count, matched } = symbol;
    const node = this.#grammar.nodes[symbol.node] as ArrayNode;
    const isFirst = symbol.at === 'first';
    const found: StackEntry[] = [];
    if (arrays.mayClose(node, count, matched))
      found.push(this.#punctuate(arena, below, isFirst ? 'closeArray' : 'spaceCloseArray'));
    for (const next of arrays.nextElements(node, count, matched)) {
      const after = this.#arraySymbol(arena, symbol.node, 'next', count + 1, next.matched);
      const value = arena.push(arena.push(below, after), nodeSymbol(arena, next.value));
      found.push(isFirst ? value : this.#punctuate(arena, value, 'comma'));
    }
    return found;
  }

  #expandDistinct(arena: StackArena, below: StackEntry, symbol: DistinctSymbol): StackEntry[] {
    const isFirst = symbol.at === 'first';
    const found: StackEntry[] = [];
    if (this.#elements.mayClose(symbol))
      found.push(this.#punctuate(arena, below, isFirst ? 'closeArray' : 'spaceCloseArray'));
    const next = this.#elements.next(arena, symbol);
    if (next === null) return found;
    const element = arena.push(below, next);
    found.push(isFirst ? element : this.#punctuate(arena, element, 'comma'));
    return found;
  }

  #expandObject(arena: StackArena, below: StackEntry, { node: index, at, used }: ObjectSymbol): StackEntry[] {
    const node = this.#object(index);
    const found: StackEntry[] = [];
    if (at !== 'name' && objects.mayClose(node, used))
      found.push(this.#punctuate(arena, below, closing(node, at)));
    const { known, others } = this.#names.next(index, used);
    if (known.length + others.length === 0) return found;
    if (at === 'next') {
      const rest = arena.push(below, objectSymbol(arena, index, 'name', used));
      found.push(this.#punctuate(arena, rest, 'comma'));
      return found;
    }
    for (const i of known) {
      for (const { value, meets } of this.#names.kindsOfKnown(index, used, i)) {
        const rest = arena.push(below, objectSymbol(arena, index, 'next', withKnown(used, i, meets)));
        const after = this.#value(arena, rest, node, value);
        found.push(arena.push(after, lexemeSymbol(arena, node.known[i]!.lexeme, 0)));
      }
    }
    for (const group of others) {
      const lexeme = this.#names.lexeme(index, group, used);
      const name = nameSymbol(arena, { node: index, group, used, spelled: '', lexeme, state: 0 });
      found.push(arena.push(below, name));
    }
    return found;
  }

  /** The rest of the object after a complete name that is not a known one; null: the object has the name already. */
  afterName(below: StackEntry, name: NameSymbol, spelled: string): StackEntry | null {
    if (name.used.others[name.group]?.includes(spelled)) return null;
    const { arena } = below;
    const node = this.#object(name.node);
    const kinds = this.#names.kindsOfOther(name.node, name.used, name.group);
    const ways = kinds.map(({ value, meets }) => {
      const rest = objectSymbol(arena, name.node, 'next', withOther(name.used, name.group, spelled, meets));
      return this.#value(arena, arena.push(below, rest), node, value);
    });
    return ways.length === 1 ? ways[0]! : arena.union(ways);
  }

  /** Whether the names of an object are the elements of an array, which no colons follow. */
  isSet(node: number): boolean {
    return this.#object(node).isSet;
  }

  #object(index: number): ObjectNode {
    return this.#grammar.nodes[index] as ObjectNode;
  }

  #punctuate(arena: StackArena, below: StackEntry, which: Punctuation): StackEntry {
    return arena.push(below, lexemeSymbol(arena, this.#grammar.punctuation[which], 0));
  }

  #value(arena: StackArena, rest: StackEntry, { isSet }: ObjectNode, value: number): StackEntry {
    return isSet ? rest : this.#punctuate(arena, arena.push(rest, nodeSymbol(arena, value)), 'colon');
  }

  #arraySymbol(
    arena: StackArena,
    index: number,
    at: ArraySymbol['at'],
    count: number,
    matched: number,
  ): ArraySymbol {
    const kept = arrays.saturate(this.#grammar.nodes[index] as ArrayNode, count, matched);
    const key = `a${index}${at}${kept.count}.${kept.matched}`;
    return arena.symbol({ key, kind: 'array', node: index, at, ...kept });
  }
}

function closing({ isSet }: ObjectNode, at: ObjectSymbol['at']): Punctuation {
  if (at === 'first') return isSet ? 'closeArray' : 'closeObject';
  return isSet ? 'spaceCloseArray' : 'spaceCloseObject';
}

export function nodeSymbol(arena: StackArena, node: number): StackSymbol {
  return arena.symbol({ key: `n${node}`, kind: 'node', node });
}

export function lexemeSymbol(arena: StackArena, lexeme: number, state: number): LexemeSymbol {
  return arena.symbol({ key: `l${lexeme}.${state}`, kind: 'lexeme', lexeme, state });
}

function repeatSymbol(arena: StackArena, node: number, done: number): StackSymbol {
  return arena.symbol({ key: `r${node}.${done}`, kind: 'repeat', node, done });
}

function objectSymbol(arena: StackArena, node: number, at: ObjectSymbol['at'], used: NameSet): ObjectSymbol {
  return arena.symbol({ key: `o${node}${at}${nameSetKey(used)}`, kind: 'object', node, at, used });
}

export function nameSymbol(arena: StackArena, name: Omit<NameSymbol, 'key' | 'kind'>): NameSymbol {
  const { node, group, lexeme, state, used, spelled } = name;
  const key = `m${node}.${group}.${lexeme}.${state}${nameSetKey(used)}${spelled}`;
  return arena.symbol({ key, kind: 'name', ...name });
}
