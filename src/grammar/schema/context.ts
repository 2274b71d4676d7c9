// The interface that the functions of one compilation share. The Normalizer implements it.

import type { Limits } from '../automata/dfa.ts';
import type { SchemaDocument, SchemaNode } from './document.ts';
import type { DynamicScope, ObjectShape, Shape, Term } from './term.ts';
import type { Terms } from './terms.ts';

export interface Context {
  readonly document: SchemaDocument;
  readonly terms: Terms;
  readonly bounds: Limits;
  /** Whether objects that declare properties are written without others. */
  readonly isClosed: boolean;
  /** Whether it matters which properties are declared, for their order or since no others are written. */
  readonly keepsDeclared: boolean;
  /** Objects that are written with others all the same, since none of declared properties only fulfils the schema. */
  readonly opened: Set<ObjectShape>;
  shapeOf(term: Term): Shape;
  /** Returns the term of a subschema that is reached from a dynamic scope. */
  enter(node: SchemaNode, dynamic: DynamicScope): Term;
  /** Returns true if no value matches the term; false also if that cannot be decided quickly. */
  isEmpty(term: Term): boolean;
  /** JSON pointer of the subschema that is being compiled, for messages. */
  place(): string;
  /** Throws the error that refuses a keyword of the subschema at a JSON pointer. */
  cannot(at: string, keyword: string, why: string): never;
  /** Throws the error that refuses the whole schema. */
  tooLarge(why: string): never;
}
