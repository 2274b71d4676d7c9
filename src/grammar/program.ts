// A compiled grammar: plain data that crosses threads as it is. Nodes refer to one another by number, so recursion is a cycle.

import type { Dfa } from './dfa.ts';
import type { Lexeme } from './lexeme.ts';

export interface Program {
  nodes: ProgramNode[];
  lexemes: Lexeme[];
  /** Node the text matches. */
  start: number;
  /** Lexemes around the parts of objects and arrays. */
  marks: Record<Mark, number>;
}

export type Mark =
  | 'openObject'
  | 'closeObject'
  | 'spaceCloseObject'
  | 'openArray'
  | 'closeArray'
  | 'spaceCloseArray'
  | 'comma'
  | 'colon';

export type ProgramNode =
  | { kind: 'lexeme'; lexeme: number }
  | { kind: 'token'; id: number }
  | { kind: 'sequence'; nodes: number[] }
  | { kind: 'choice'; nodes: number[] }
  | { kind: 'repeat'; node: number; min: number; max: number }
  | ObjectNode
  | ArrayNode;

/** Values that no text matches are left out, with their names. */
export interface ObjectNode {
  kind: 'object';
  /** An array of texts that differ, which are its names; no value follows any. */
  isSet: boolean;
  /** Known names: the lexeme of each in quotes, and the node of its value. */
  known: { name: string; lexeme: number; value: number }[];
  others: OtherNames[];
  /** Numbers of known names. */
  required: number[];
  /** Of each known name: the others that must come with it. */
  dependents: number[][];
  min: number;
  max: number;
}

export interface OtherNames {
  lexeme: number;
  value: number;
  /** Where names can run out, on the whole or after some beginning: the names, to take the used ones away. Else null. */
  scarce: Dfa | null;
}

export interface ArrayNode {
  kind: 'array';
  prefix: ElementNode[];
  /** After the prefix; null: nothing. */
  rest: ElementNode | null;
  min: number;
  max: number;
  contains: { min: number; max: number } | null;
}

/** Without `contains` both are the same; -1: no text matches. */
export interface ElementNode {
  matching: number;
  other: number;
}
