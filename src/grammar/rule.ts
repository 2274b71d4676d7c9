// What a generated text may be, as a tree of plain data: the language between the front ends (regex, EBNF, JSON Schema, tools)
// and the machine. Rules speak of characters; tokens and bytes are the machine's affair. The text matches a rule from its first
// character to its last. A choice has no order: every alternative stays open until the text decides.

import type { Dfa } from './dfa.ts';

export type Rule =
  /** These characters as they stand; '' is nothing at all. */
  | { type: 'text'; text: string }
  | RegularRule
  /** This one token, by id: the only way to a special token. */
  | { type: 'token'; id: number }
  | { type: 'sequence'; rules: Rule[] }
  /** One of them; of none: no text matches. */
  | { type: 'choice'; rules: Rule[] }
  /** `max` may be Infinity. */
  | { type: 'repeat'; rule: Rule; min: number; max: number }
  /** A rule by the name a scope around it gives it; recursion goes through here. */
  | { type: 'reference'; name: string }
  /** Names for `start` and for the rules themselves; an inner scope hides the names of an outer one. */
  | { type: 'scope'; rules: Record<string, Rule>; start: Rule }
  /** Any JSON value. */
  | { type: 'json' }
  | StringRule
  | ObjectRule
  | ArrayRule
  | SetRule;

/** A text the automaton accepts, as it stands. */
export interface RegularRule {
  type: 'regular';
  dfa: Dfa;
  /** Characters at most, see BoundedText; left out: what the automaton says. */
  longest?: number;
}

/** A JSON string, quotes included, each character raw or escaped as JSON allows. `dfa` judges the text that it stands for. */
export interface StringRule {
  type: 'string';
  /** Left out: every text. */
  dfa?: Dfa;
  /** As for a regular rule. */
  longest?: number;
}

/** A JSON object with its properties in any order; no name comes twice. A name is judged by its text, escapes undone. */
export interface ObjectRule {
  type: 'object';
  /** Known names. `value` null: the name must not occur. */
  properties: { name: string; value: Rule | null }[];
  /** Other names, each automaton apart from the others; a name that is in `properties` is never looked for here. */
  patterns: { names: Dfa; value: Rule | null }[];
  /** The value of all names left; null: there are none. */
  rest: Rule | null;
  /** Names that must occur; each is in `properties`. */
  required: string[];
  /** Where the first name occurs, the others must. All of them are in `properties`. */
  dependentRequired: Record<string, string[]>;
  /** Which names may occur at all, known ones too; null: every one. */
  names: Dfa | null;
  min: number;
  max: number;
}

/** A JSON array. */
export interface ArrayRule {
  type: 'array';
  /** The first elements; null: there is no such element, nor any after it. */
  prefix: (Element | null)[];
  /** All after them; null: none. */
  rest: Element | null;
  min: number;
  max: number;
  /** How many elements match `contains`; left out: it is not asked, and elements are plain rules. */
  contains?: { min: number; max: number };
}

/** A JSON array in any order of strings and literals, none of which comes twice. */
export interface SetRule {
  type: 'set';
  /** Strings among the elements, by their text; null: none. */
  strings: Dfa | null;
  /** Elements that are no strings, each in its one spelling. */
  literals: string[];
  min: number;
  max: number;
}

/** With `contains`: the values that match it, and those that do not; null: there are none. Together they are the element. */
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

/** Any object, until members say otherwise. */
export const object = (members: Partial<Omit<ObjectRule, 'type'>> = {}): ObjectRule => ({
  type: 'object',
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

/** Any array, until members say otherwise. */
export const array = (members: Partial<Omit<ArrayRule, 'type'>> = {}): ArrayRule => ({
  type: 'array',
  prefix: [],
  rest: anyJson,
  min: 0,
  max: Infinity,
  ...members,
});
