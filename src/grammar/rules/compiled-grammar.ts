// A compiled grammar: plain data that can be sent between threads. Nodes are its productions and refer to each other by index, so a
// recursive rule is a cycle; lexemes are its terminals.

import type { Dfa } from '../automata/dfa-table.ts';
import type { Lexeme } from '../lexemes/lexeme.ts';
import type { ValueKind } from './object-conditions.ts';

export interface CompiledGrammar {
  nodes: GrammarNode[];
  lexemes: Lexeme[];
  /** Index of the node that the whole text matches. */
  start: number;
  /** Lexemes between the parts of objects and arrays. */
  punctuation: Record<Punctuation, number>;
}

export type Punctuation =
  | 'openObject'
  | 'closeObject'
  | 'spaceCloseObject'
  | 'openArray'
  | 'closeArray'
  | 'spaceCloseArray'
  | 'comma'
  | 'colon';

/** The members `lexeme` are indices of lexemes; `node`, `nodes` and `value` are indices of nodes. */
export type GrammarNode =
  | { kind: 'lexeme'; lexeme: number }
  | { kind: 'token'; id: number }
  | { kind: 'sequence'; nodes: number[] }
  | { kind: 'choice'; nodes: number[] }
  | RepeatNode
  | ObjectNode
  | ArrayNode
  | DistinctNode;

export interface RepeatNode {
  kind: 'repeat';
  node: number;
  min: number;
  max: number;
}

/** A JSON object. Names whose values no text matches are left out. */
export interface ObjectNode {
  kind: 'object';
  /** Whether it is an array of distinct texts: those are its names, and no values follow. */
  isSet: boolean;
  /** Number of known names that come in their order and before all other names. */
  ordered: number;
  /** Known names: the lexeme of the name in quotes, and the node of its value. */
  known: { name: string; lexeme: number; value: number }[];
  others: OtherNames[];
  /** Indices of known names; -1: a name that is impossible. */
  required: number[];
  /** [known names]: indices of the names that must come with the name. */
  dependents: number[][];
  min: number;
  max: number;
  /** null: there are none. An object that has some has no dependents, and no upper bound. */
  conditions: ConditionsNode | null;
}

/** Conditions of which each must be met by a property or by the absence of one. The node of a name's value is then a choice of its kinds. */
export interface ConditionsNode {
  count: number;
  /** The conditions that are met by the absence of impossible names, as bits. */
  given: number;
  /** [known names]: the kinds of values. */
  known: ValueKind[][];
  /** [known names]: the conditions that are met where the name does not occur, as bits. */
  absent: number[];
  /** [groups of other names]: the kinds of values. */
  others: ValueKind[][];
}

/** A group of names that are not known one by one. */
export interface OtherNames {
  lexeme: number;
  value: number;
  /** The names, where they can run out after some prefix and used ones must be taken away. null: there are always more. */
  scarce: Dfa | null;
}

export interface ArrayNode {
  kind: 'array';
  prefix: ElementNode[];
  /** Elements after the prefix; null: none. */
  rest: ElementNode | null;
  min: number;
  max: number;
  /** Bounds on the number of elements that match `contains`; null: not counted. */
  contains: { min: number; max: number } | null;
}

/** An array of which no two elements are equal. */
export interface DistinctNode {
  kind: 'distinct';
  /** Nodes of the first elements. */
  prefix: number[];
  /** Node of the elements after the prefix; -1: none. */
  rest: number;
  min: number;
  max: number;
}

/** Nodes of an element that matches `contains` and of one that does not, equal where it is not counted; -1: impossible. */
export interface ElementNode {
  matching: number;
  other: number;
}
