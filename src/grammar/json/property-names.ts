// The names an object can still have, computed once for each set of names it has so far.

import type { ObjectNode, OtherNames, CompiledGrammar } from '../rules/compiled-grammar.ts';
import { determinize } from '../automata/determinize.ts';
import { countTexts } from '../automata/dfa-language.ts';
import { limits, subtract, type Dfa } from '../automata/dfa.ts';
import { characters } from '../automata/expression.ts';
import { createLexeme, type Lexeme } from '../lexemes/lexeme.ts';
import { LruCache } from '../bounds/lru-cache.ts';
import { nameSetKey, type NameSet } from './name-set.ts';
import type { ValueKind } from '../rules/object-conditions.ts';
import { nextKnown, nextOthers, openConditions, type Remaining } from './object-state.ts';
import type { OpenConditions } from './open-conditions.ts';
import type { WorkBudget } from '../bounds/work-budget.ts';

/** Names that may come next: indices of known names, and groups of other names. */
export interface NextNames {
  known: number[];
  others: number[];
  /** null: the object has none. */
  conditions: OpenConditions | null;
}

/** A group of other names without those that are used. */
interface ReducedGroup {
  lexeme: number;
  /** Number of names. */
  count: number;
}

/** Most name sets whose next names are cached. */
const MOST_CACHED = 4096;

export class PropertyNames {
  readonly #grammar: CompiledGrammar;
  readonly #lexemes: Lexeme[];
  readonly #available: Uint8Array;
  readonly #next = new LruCache<string, NextNames>({ maxSize: MOST_CACHED });
  readonly #reduced = new Map<string, ReducedGroup>();

  readonly #spend: (steps: number) => void;

  /**
   * Lexemes that it makes are appended to `lexemes`. `available`: 1 for each byte that is a token by itself. `budget` pays for searches among
   * conditions.
   */
  constructor(
    grammar: CompiledGrammar,
    { lexemes, available, budget }: { lexemes: Lexeme[]; available: Uint8Array; budget: WorkBudget },
  ) {
    this.#spend = (steps) => budget.spend(steps);
    this.#grammar = grammar;
    this.#lexemes = lexemes;
    this.#available = available;
  }

  /** Names that may come next in an object. */
  next(node: number, used: NameSet): NextNames {
    const key = `${node}${nameSetKey(used)}`;
    let found = this.#next.get(key);
    if (!found) {
      this.#next.set(key, (found = this.#findNext(node, used)));
    }
    return found;
  }

  #findNext(node: number, used: NameSet): NextNames {
    const object = this.#object(node);
    const remaining: Remaining = (group, names) => this.#remaining(node, group, names);
    const conditions = openConditions(object, used, remaining);
    const known = nextKnown(object, used, remaining);
    const others = nextOthers(object, used, remaining);
    if (conditions === null) return { known, others, conditions };
    return {
      known: known.filter((index) => conditions.kindsOfKnown(index, this.#spend).length > 0),
      others: others.filter((group) => conditions.kindsOfOther(group, this.#spend).length > 0),
      conditions,
    };
  }

  /** The kinds of values that a known name may have next. */
  kindsOfKnown(node: number, used: NameSet, index: number): ValueKind[] {
    const { conditions } = this.next(node, used);
    if (conditions !== null) return conditions.kindsOfKnown(index, this.#spend);
    return [{ value: this.#object(node).known[index]!.value, meets: 0 }];
  }

  /** The kinds of values that a further name of a group may have. */
  kindsOfOther(node: number, used: NameSet, group: number): ValueKind[] {
    const { conditions } = this.next(node, used);
    if (conditions !== null) return conditions.kindsOfOther(group, this.#spend);
    return [{ value: this.#group(node, group).value, meets: 0 }];
  }

  /** Index of the lexeme of a group of other names, without the used ones where the names can run out. */
  lexeme(node: number, group: number, used: NameSet): number {
    const { scarce, lexeme } = this.#group(node, group);
    return scarce === null ? lexeme : this.#reduce(node, group, scarce, used.others[group] ?? []).lexeme;
  }

  #object(node: number): ObjectNode {
    return this.#grammar.nodes[node] as ObjectNode;
  }

  #group(node: number, group: number): OtherNames {
    return this.#object(node).others[group]!;
  }

  #remaining(node: number, group: number, used: readonly string[]): number {
    const { scarce } = this.#group(node, group);
    return scarce === null ? Infinity : this.#reduce(node, group, scarce, used).count;
  }

  #reduce(node: number, group: number, scarce: Dfa, used: readonly string[]): ReducedGroup {
    const key = `${node}.${group}.${JSON.stringify(used)}`;
    let found = this.#reduced.get(key);
    if (!found) {
      const words = determinize({
        kind: 'choice',
        parts: used.map((spelled) => characters(nameOf(spelled))),
      });
      const rest = subtract(scarce, words, limits());
      const lexeme = createLexeme(rest, 'name', this.#available, limits());
      found = { lexeme: this.#lexemes.push(lexeme) - 1, count: countTexts(rest)[0] ?? 0 };
      this.#reduced.set(key, found);
    }
    return found;
  }
}

/** The name of a JSON string, given as its bytes, one per UTF-16 unit. */
function nameOf(spelled: string): string {
  const bytes = Uint8Array.from(spelled, (character) => character.charCodeAt(0));
  return String(JSON.parse(new TextDecoder().decode(bytes)));
}
