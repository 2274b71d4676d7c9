// The interface that the functions of one compilation share. The Normalizer implements it.

import type { Limits } from '../dfa.ts';
import type { SchemaDocument, SchemaNode } from './document.ts';
import type { DynamicScope, Shape, Term } from './term.ts';
import type { Terms } from './terms.ts';

export interface Context {
  readonly document: SchemaDocument;
  readonly terms: Terms;
  readonly bounds: Limits;
  shapeOf(term: Term): Shape;
  /** The term of a subschema reached from a dynamic scope. */
  enter(node: SchemaNode, dynamic: DynamicScope): Term;
  /** Whether no value has the term; false also where that is not found quickly. */
  isEmpty(term: Term): boolean;
  /** JSON pointer of the subschema being worked out, for messages. */
  place(): string;
  /** Refuses a keyword of the subschema at a JSON pointer. */
  cannot(at: string, keyword: string, why: string): never;
  /** Refuses the whole schema. */
  tooLarge(why: string): never;
}
