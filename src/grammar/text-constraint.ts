// Constraints on a text as plain data. The grammar engine has one front end for each kind.

import type { TextFormat } from './text-format.ts';

/** How JSON Schemas are read that do not say `strict`: as with `strict` true, or false. */
export type SchemaMode = 'declared' | 'whole';

/** The constraint of a whole text. */
export type TextConstraint =
  | { type: 'json_object' }
  /**
   * Properties come in the order in which the schema declares them, and no others are written by an object that declares some, unless the schema
   * allows them by additionalProperties or patternProperties. `strict` false: the whole language of the schema.
   */
  | { type: 'json_schema'; schema: unknown; strict?: boolean }
  | { type: 'regex'; pattern: string }
  /** W3C EBNF or llama.cpp's GBNF; the start rule is `root`. */
  | { type: 'ebnf'; grammar: string }
  /** Free text with tagged regions, each with a JSON Schema. `strict` as above. */
  | { type: 'structural_tag'; structures: StructuralTag[]; triggers: string[]; strict?: boolean }
  /** Structural tags as a tree of formats. `strict` as above, for all schemas in it. */
  | { type: 'format'; format: TextFormat; strict?: boolean };

/** From `begin` to `end` the text matches `schema`; text that matches one of the triggers must go on as one of the tags. */
export interface StructuralTag {
  begin: string;
  schema: unknown;
  end: string;
}
