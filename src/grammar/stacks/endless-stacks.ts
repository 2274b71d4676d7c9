// Which stacks infinitely many texts can complete. Where an element must differ from finitely many others, such a stack is not a dead end.

import * as arrays from '../json/array-state.ts';
import type { ArrayNode, CompiledGrammar, DistinctNode, ObjectNode } from '../rules/compiled-grammar.ts';
import type { ElementSymbol, ParserState, StackEntry, StackSymbol } from './graph-stack.ts';
import { isEndless } from '../lexemes/lexeme-growth.ts';
import type { Lexeme } from '../lexemes/lexeme.ts';
import { NO_NAMES, withKnown, type NameSet } from '../json/name-set.ts';
import type { PropertyNames } from '../json/property-names.ts';

export interface EndlessParts {
  grammar: CompiledGrammar;
  /** With those that were made since the grammar was compiled. */
  lexemes: readonly Lexeme[];
  names: PropertyNames;
  /** Whether infinitely many texts complete the element itself. */
  isElementEndless(element: ElementSymbol): boolean;
}

export class EndlessStacks {
  readonly #parts: EndlessParts;
  /** [nodes]: open while the node is looked at. */
  readonly #nodes: (boolean | 'open' | undefined)[] = [];
  readonly #entries = new WeakMap<StackEntry, boolean>();

  constructor(parts: EndlessParts) {
    this.#parts = parts;
  }

  /** False also for a few states that infinitely many texts complete. */
  has({ tops }: ParserState): boolean {
    return tops.some((top) => this.#isEntryEndless(top));
  }

  #isEntryEndless(top: StackEntry): boolean {
    let found = this.#entries.get(top);
    if (found !== undefined) return found;
    found = false;
    for (let entry: StackEntry | null = top; entry !== null && !found; entry = entry.below) {
      const { symbol } = entry;
      if (symbol.kind === 'union') found = symbol.of.some((one) => this.#isEntryEndless(one));
      else found = this.#isSymbolEndless(symbol);
    }
    this.#entries.set(top, found);
    return found;
  }

  #isSymbolEndless(symbol: StackSymbol): boolean {
    const { grammar, lexemes } = this.#parts;
    switch (symbol.kind) {
      case 'lexeme':
        return isEndless(lexemes[symbol.lexeme]!, symbol.state);
      case 'name': {
        const { value } = (grammar.nodes[symbol.node] as ObjectNode).others[symbol.group]!;
        if (isEndless(lexemes[symbol.lexeme]!, symbol.state) || this.#isNodeEndless(value)) return true;
        return this.#isObjectEndless(symbol.node, { ...symbol.used, count: symbol.used.count + 1 });
      }
      case 'node':
      case 'repeat':
        return this.#isNodeEndless(symbol.node);
      case 'object':
        return this.#isObjectEndless(symbol.node, symbol.used);
      case 'array':
        return this.#isArrayEndless(symbol.node, symbol.count, symbol.matched);
      case 'distinct':
        return this.#isDistinctEndless(symbol.node, symbol.used.size);
      case 'element':
        return (
          this.#parts.isElementEndless(symbol) || this.#isDistinctEndless(symbol.node, symbol.used.size + 1)
        );
      default:
        return false;
    }
  }

  /** A node that is part of itself is endless, since every node has texts and parts come after some text. */
  #isNodeEndless(index: number): boolean {
    const known = this.#nodes[index];
    if (known !== undefined) return known !== false;
    this.#nodes[index] = 'open';
    return (this.#nodes[index] = this.#lookAt(index));
  }

  #lookAt(index: number): boolean {
    const { grammar, lexemes } = this.#parts;
    const node = grammar.nodes[index]!;
    switch (node.kind) {
      case 'lexeme':
        return isEndless(lexemes[node.lexeme]!, 0);
      case 'token':
        return false;
      case 'sequence':
      case 'choice':
        return node.nodes.some((each) => this.#isNodeEndless(each));
      case 'repeat':
        return node.max === Infinity || this.#isNodeEndless(node.node);
      case 'object':
        return this.#isObjectEndless(index, NO_NAMES);
      case 'array':
        return this.#isArrayEndless(index, 0, 0);
      case 'distinct':
        return this.#isDistinctEndless(index, 0);
    }
  }

  /** Looks at the names that may come next, and at those that may come after the required ones. */
  #isObjectEndless(index: number, given: NameSet): boolean {
    const { grammar, lexemes, names } = this.#parts;
    const node = grammar.nodes[index] as ObjectNode;
    for (let used = given; ;) {
      const next = names.next(index, used);
      const isEndlessGroup = (group: number): boolean => {
        const { lexeme, value } = node.others[group]!;
        return isEndless(lexemes[lexeme]!, 0) || this.#isNodeEndless(value);
      };
      if (next.others.some(isEndlessGroup)) return true;
      const kinds = next.known.map((known) => names.kindsOfKnown(index, used, known));
      if (kinds.some((list) => list.some(({ value }) => this.#isNodeEndless(value)))) return true;
      const at = next.known.findIndex((known) => node.required.includes(known));
      if (at < 0) return false;
      used = withKnown(used, next.known[at]!, kinds[at]![0]!.meets);
    }
  }

  #isArrayEndless(index: number, givenCount: number, givenMatched: number): boolean {
    const node = this.#parts.grammar.nodes[index] as ArrayNode;
    let [count, matched] = [givenCount, givenMatched];
    for (;;) {
      const next = arrays.nextElements(node, count, matched);
      if (next.length === 0) return false;
      if (next.some(({ value }) => this.#isNodeEndless(value))) return true;
      if (count >= Math.max(node.prefix.length, node.min)) {
        const isUncounted = node.contains === null || node.contains.max === Infinity;
        return node.max === Infinity && (isUncounted || next.some((each) => each.matched === matched));
      }
      count++;
      matched = next.at(-1)!.matched;
    }
  }

  #isDistinctEndless(index: number, count: number): boolean {
    const { prefix, rest, max } = this.#parts.grammar.nodes[index] as DistinctNode;
    const open = prefix.slice(count, max);
    if (rest >= 0 && max > Math.max(count, prefix.length)) open.push(rest);
    return open.some((each) => this.#isNodeEndless(each));
  }
}
