// Rules, the syntax trees of grammars: the language that all front ends (JSON Schema, regular expressions, EBNF, structural tags, tool
// formats) produce and the compiler reads. Plain data. A rule is about characters, and a text matches it from the first character to
// the last. A choice is unordered: all alternatives that fit the text so far stay possible.

import type { Dfa } from '../automata/dfa.ts';

export type Rule =
  /** Exactly this text; '' matches the empty text. */
  | { type: 'text'; text: string }
  | RegularRule
  /** The token with this id; only this rule matches special tokens. */
  | { type: 'token'; id: number }
  | { type: 'sequence'; rules: Rule[] }
  /** A choice of `rules`. An empty choice matches no text. */
  | { type: 'choice'; rules: Rule[] }
  /** From `min` to `max` repeats; `max` may be Infinity. */
  | { type: 'repeat'; rule: Rule; min: number; max: number }
  /** The rule that the nearest enclosing scope names so. Recursion takes references. */
  | { type: 'reference'; name: string }
  | ScopeRule
  /** Any JSON value. */
  | { type: 'json' }
  | StringRule
  | ObjectRule
  | ArrayRule
  | SetRule
  | DistinctRule;

/** Names that `start` and the rules themselves can refer to; an inner scope hides equal names of an outer one. */
export interface ScopeRule {
  type: 'scope';
  rules: Record<string, Rule>;
  start: Rule;
}

/** A text that the automaton accepts. */
export interface RegularRule {
  type: 'regular';
  dfa: Dfa;
  /** Most characters, as in BoundedDfa; left out: the automaton alone decides. */
  longest?: number;
}

/** A JSON string with its quotes, each character raw or escaped as JSON allows. `dfa` accepts the text it stands for. */
export interface StringRule {
  type: 'string';
  /** Left out: any text. */
  dfa?: Dfa;
  /** Maximum length in characters, like `longest` of a regular rule. */
  longest?: number;
}

/** A JSON object with distinct names. Names are compared without their escapes. */
export interface ObjectRule {
  type: 'object';
  /** Number of `properties` that come in their order and before all other names. */
  ordered: number;
  /** Known names; `value` null: the name must not occur. */
  properties: { name: string; value: Rule | null }[];
  /** Disjoint sets of other names. A name that is in `properties` belongs to none of them. */
  patterns: { names: Dfa; value: Rule | null }[];
  /** The value of all names that are in neither; null: such names must not occur. */
  rest: Rule | null;
  /** Names that must occur; all are in `properties`. */
  required: string[];
  /** The names that must occur where the name occurs that is their key. All are in `properties`. */
  dependentRequired: Record<string, string[]>;
  /** The names that may occur, known ones included; null: all. */
  names: Dfa | null;
  min: number;
  max: number;
  /** Left out: there are none. With conditions the object has no dependent names and no upper bound. */
  conditions?: ObjectConditions;
}

/** Conditions of which each must be met by the value of a name or by the absence of a name. Bit i of a number stands for condition i. */
export interface ObjectConditions {
  count: number;
  /** The kinds of values of names and patterns, by their index in `properties` and `patterns`; disjoint, and together the rule's value. */
  properties: { rule: Rule; meets: number }[][];
  patterns: { rule: Rule; meets: number }[][];
  /** [properties]: the conditions that are met where the name does not occur. */
  absent: number[];
}

/** A JSON array. */
export interface ArrayRule {
  type: 'array';
  /** The first elements; null: neither this element nor any after it may exist. */
  prefix: (Element | null)[];
  /** The elements after the prefix; null: none. */
  rest: Element | null;
  min: number;
  max: number;
  /** Bounds on the number of elements that match `contains`; left out: not counted, and elements are plain rules. */
  contains?: { min: number; max: number };
}

/** A JSON array of distinct strings and literals, in any order. */
export interface SetRule {
  type: 'set';
  /** The texts of elements that are strings; null: no element is one. */
  strings: Dfa | null;
  /** The other elements, each in its only spelling. */
  literals: string[];
  min: number;
  max: number;
}

/** A JSON array of which no two elements are equal. Any `min` elements can be found without an equal pair, whichever come first. */
export interface DistinctRule {
  type: 'distinct';
  /** The first elements. */
  prefix: Rule[];
  /** The elements after the prefix; null: none. */
  rest: Rule | null;
  min: number;
  max: number;
}

/** With `contains`, the values of the element that match it, and those that do not; null: no value does. */
export type Element = Rule | { matching: Rule | null; other: Rule | null };

export const text = (characters: string): Rule => ({ type: 'text', text: characters });
export const regular = (dfa: Dfa, longest = Infinity): Rule => ({
  type: 'regular',
  dfa,
  ...(longest < Infinity && { longest }),
});
export const token = (id: number): Rule => ({ type: 'token', id });
export const sequence = (...rules: Rule[]): Rule => ({ type: 'sequence', rules });
export const choice = (...rules: Rule[]): Rule => ({ type: 'choice', rules });
export const repeat = (rule: Rule, min: number, max = Infinity): Rule => ({ type: 'repeat', rule, min, max });
export const optional = (rule: Rule): Rule => repeat(rule, 0, 1);
export const reference = (name: string): Rule => ({ type: 'reference', name });
export const scope = (rules: Record<string, Rule>, start: Rule): Rule => ({ type: 'scope', rules, start });
export const anyJson: Rule = { type: 'json' };
export const string = (dfa?: Dfa, longest = Infinity): Rule => ({
  type: 'string',
  ...(dfa && { dfa }),
  ...(longest < Infinity && { longest }),
});

/** An object; members that are left out restrict nothing. */
export const object = (members: Partial<Omit<ObjectRule, 'type'>> = {}): ObjectRule => ({
  type: 'object',
  ordered: 0,
  properties: [],
  patterns: [],
  rest: anyJson,
  required: [],
  dependentRequired: {},
  names: null,
  min: 0,
  max: Infinity,
  ...members,
});

/** An array; members that are left out restrict nothing. */
export const array = (members: Partial<Omit<ArrayRule, 'type'>> = {}): ArrayRule => ({
  type: 'array',
  prefix: [],
  rest: anyJson,
  min: 0,
  max: Infinity,
  ...members,
});
