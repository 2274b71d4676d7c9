// The data of a schema's normal form. A term names a set of JSON values that is not yet worked out: a subschema, or a combination of
// terms. A shape is such a set worked out, type by type, down to elements and properties, which are terms again.

import type { Dfa } from '../automata/dfa-table.ts';
import type { Json } from '../json/json-value.ts';
import type { Resource, SchemaNode } from './document.ts';
import type { NumberSet } from './number-set.ts';

export type { Json } from '../json/json-value.ts';

/** The resources passed through on the way to a subschema, outermost first, in which $dynamicRef is resolved. */
export type DynamicScope = readonly Resource[];

/** Terms are made once for equal content (see Terms) and compared by identity. */
export type Term = { readonly id: number } & (
  | { readonly kind: 'any' | 'none' }
  | { readonly kind: 'schema'; readonly node: SchemaNode; readonly dynamic: DynamicScope }
  | { readonly kind: 'all' | 'some'; readonly of: readonly Term[] }
  | { readonly kind: 'not'; readonly of: Term }
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'shape'; readonly shape: Shape }
);

/** Whether some finite value has a term. */
export type IsInhabited = (term: Term) => boolean;

/** The term of all values. */
export const ANY: Term = { id: 0, kind: 'any' };
/** The term of no value. */
export const NONE: Term = { id: 1, kind: 'none' };
/**
 * The term of the properties that nothing is said about: it has all values, as ANY has, but is left out where only declared properties are
 * written. Beside any other term it restricts nothing and allows nothing.
 */
export const UNDECLARED: Term = { id: 2, kind: 'any' };

export type Word = null | boolean;
export const WORDS: readonly Word[] = [null, true, false];

/** The values of each type that are allowed. */
export interface Shape {
  /** The values null, true and false that the schema accepts. */
  readonly words: readonly Word[];
  readonly numbers: NumberSet;
  /** With `longest`: the strings as a BoundedDfa. */
  readonly strings: Dfa;
  readonly longest: number;
  /** The union of these. */
  readonly arrays: readonly ArrayShape[];
  /** The union of these. */
  readonly objects: readonly ObjectShape[];
}

export interface ArrayShape {
  readonly prefix: readonly Term[];
  /** Elements after the prefix. */
  readonly rest: Term;
  readonly min: number;
  readonly max: number;
  readonly counts: readonly ElementCount[];
  /** JSON pointer of the subschema that asks for distinct elements; null: none does. */
  readonly unique: string | null;
}

/** From index `from` on, `min` to `max` elements have the term. */
export interface ElementCount {
  readonly term: Term;
  readonly from: number;
  readonly min: number;
  readonly max: number;
  /** JSON pointer of the subschema that asks for it. */
  readonly at: string;
}

export interface ObjectShape {
  readonly named: ReadonlyMap<string, Term>;
  /** Disjoint classes of names that together have every name; a name in `named` belongs to none. */
  readonly classes: readonly NameClass[];
  readonly required: ReadonlySet<string>;
  /** The names that must occur where the name occurs that is their key. */
  readonly dependent: ReadonlyMap<string, ReadonlySet<string>>;
  readonly min: number;
  readonly max: number;
  readonly conditions: readonly Condition[];
  /** null: nothing is declared, or it does not matter for the reading. */
  readonly declared: Declared | null;
}

export interface Declared {
  /** Names under `properties`, in their order. */
  readonly names: readonly string[];
  /** Whether other names are not written unless the schema allows them explicitly. */
  readonly closes: boolean;
}

/** A set of names whose properties have the same term. */
export interface NameClass {
  readonly names: Dfa;
  readonly term: Term;
}

/** One of the ways must hold. */
export interface Condition {
  readonly ways: readonly Way[];
  /** JSON pointer of the subschema that asks for it. */
  readonly at: string;
}

export type Way =
  /** The object has the name, with a value of the term. */
  | { readonly kind: 'has'; readonly name: string; readonly term: Term }
  | { readonly kind: 'lacks'; readonly name: string }
  /** It has some name that the automaton accepts, with a value of the term. */
  | { readonly kind: 'other'; readonly names: Dfa; readonly term: Term };
