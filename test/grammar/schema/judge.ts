// Texts walked byte by byte through the masks of a schema's grammar.

import type { Constraint } from '../../../src/engine/text/calls/constraint.ts';
import { compile } from '../../../src/grammar/compile/compile.ts';
import { limits } from '../../../src/grammar/automata/dfa.ts';
import { Grammar } from '../../../src/grammar/grammar.ts';
import { ruleOfSchema, WHOLE, type SchemaReading } from '../../../src/grammar/schema/schema-rule.ts';
import { idsOf, smallVocabulary } from '../small-vocabulary.ts';

/** Token ids are bytes. */
const vocabulary = smallVocabulary([]);

/** Without `reading`: the whole language of the schema. */
export function grammarOf(schema: unknown, reading: SchemaReading = WHOLE): Grammar {
  const rule = ruleOfSchema(schema, { path: 'schema', reading });
  return new Grammar(compile(rule, vocabulary.available, limits()), vocabulary);
}

/** Bytes that may come next; null among them: the text may end. */
export function nextBytes(constraint: Constraint): (number | null)[] {
  const bits = new Uint32Array(Math.ceil(vocabulary.size / 32));
  constraint.mask(bits);
  return idsOf(bits).map((id) => (id === vocabulary.end ? null : id));
}

export function accepts(grammar: Grammar, text: string): boolean {
  const constraint = grammar.start();
  for (const byte of new TextEncoder().encode(text)) {
    if (!nextBytes(constraint).includes(byte)) return false;
    constraint.accept(byte);
  }
  return nextBytes(constraint).includes(null);
}

/** Returns a value with the members of every object in reverse order. */
export function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, reversed(member)] as const);
  return Object.fromEntries(members.toReversed());
}
