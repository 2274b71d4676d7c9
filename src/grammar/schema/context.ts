// What the pieces of one compilation share.

import type { Limits } from '../dfa.ts';
import type { SchemaDocument, SchemaNode } from './document.ts';
import type { Shape } from './shape.ts';
import type { DynamicScope, Term, Terms } from './term.ts';

export interface Context {
  readonly document: SchemaDocument;
  readonly terms: Terms;
  readonly bounds: Limits;
  shapeOf(term: Term): Shape;
  /** The term of a subschema reached from this dynamic scope. */
  enter(node: SchemaNode, dynamic: DynamicScope): Term;
  /** Whether no value can fulfil the term; false where that is not seen at once. */
  isEmpty(term: Term): boolean;
  /** The pointer of the subschema being worked out, for messages. */
  place(): string;
  /** Refuses the keyword of the subschema at this pointer. */
  cannot(at: string, keyword: string, why: string): never;
  tooLarge(why: string): never;
}
