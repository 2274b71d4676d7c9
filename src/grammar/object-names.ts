// The names an object may still have, worked out once for each set of names it has so far.

import { LRUCache } from 'lru-cache';
import { dfaOf } from './determinize.ts';
import { limits, subtract, type Dfa } from './dfa.ts';
import { countTexts } from './dfa-language.ts';
import { characters } from './expression.ts';
import { lexemeOf, type Lexeme } from './lexeme.ts';
import { nextKnown, nextOthers, seenKey, type Left, type Seen } from './object-state.ts';
import type { ObjectNode, Program } from './program.ts';

export interface Names {
  /** Names that may come next: numbers of known ones, groups of others. */
  next(node: number, seen: Seen): { known: number[]; others: number[] };
  /** The lexeme of a group of other names, used ones taken away where names can run out. */
  lexeme(node: number, group: number, seen: Seen): number;
}

/** Sets of names kept. */
const MOST_KEPT = 4096;

/** Lexemes that it makes go to the end of `lexemes`. */
export function createNames({ nodes }: Program, lexemes: Lexeme[], available: Uint8Array): Names {
  const nexts = new LRUCache<string, { known: number[]; others: number[] }>({ max: MOST_KEPT });
  const reduced = new Map<string, { lexeme: number; left: number }>();
  const others = (node: number, group: number): ObjectNode['others'][number] =>
    (nodes[node] as ObjectNode).others[group]!;

  const reduce = (
    node: number,
    group: number,
    scarce: Dfa,
    used: readonly string[],
  ): { lexeme: number; left: number } => {
    const key = `${node}.${group}.${JSON.stringify(used)}`;
    let found = reduced.get(key);
    if (!found) {
      const words = dfaOf({ kind: 'choice', parts: used.map((spelled) => characters(nameOf(spelled))) });
      const rest = subtract(scarce, words, limits());
      const lexeme = lexemeOf(rest, 'name', available, limits());
      found = { lexeme: lexemes.push(lexeme) - 1, left: countTexts(rest)[0] ?? 0 };
      reduced.set(key, found);
    }
    return found;
  };
  const left =
    (node: number): Left =>
    (group, used) => {
      const { scarce } = others(node, group);
      return scarce === null ? Infinity : reduce(node, group, scarce, used).left;
    };

  return {
    next(node, seen) {
      const key = `${node}${seenKey(seen)}`;
      let found = nexts.get(key);
      if (!found) {
        const object = nodes[node] as ObjectNode;
        found = { known: nextKnown(object, seen, left(node)), others: nextOthers(object, seen, left(node)) };
        nexts.set(key, found);
      }
      return found;
    },
    lexeme(node, group, seen) {
      const { scarce, lexeme } = others(node, group);
      return scarce === null ? lexeme : reduce(node, group, scarce, seen.others[group] ?? []).lexeme;
    },
  };
}

/** The name that bytes in quotes stand for. */
function nameOf(spelled: string): string {
  const bytes = Uint8Array.from(spelled, (character) => character.charCodeAt(0));
  return String(JSON.parse(new TextDecoder().decode(bytes)));
}
