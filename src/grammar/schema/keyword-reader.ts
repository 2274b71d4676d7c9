// Reads the keywords of one subschema as checked values.

import type { Context } from './context.ts';
import { type SchemaNode } from './document.ts';
import type { DynamicScope, Term } from './term.ts';
import { describe, isObject, type SchemaObject } from './schema-value.ts';

export interface Subschema {
  readonly node: SchemaNode;
  readonly value: SchemaObject;
  readonly dynamic: DynamicScope;
}

/** Each method returns the checked value of a keyword, or undefined where it is missing, and throws bad_request for a wrong type. */
export interface KeywordReader {
  at: Subschema;
  number(keyword: string): number | undefined;
  count(keyword: string): number | undefined;
  string(keyword: string): string | undefined;
  list(keyword: string): unknown[] | undefined;
  map(keyword: string): [string, unknown][] | undefined;
  names(keyword: string, value?: unknown): string[] | undefined;
  /** The term of the subschema under these keys. */
  term(...keys: (string | number)[]): Term;
  has(keyword: string): boolean;
  refuse(keyword: string, why: string, remedy: string): never;
}

export function readSchema(at: Subschema, context: Context): KeywordReader {
  const { document } = context;
  const { node, value, dynamic } = at;
  const refuse = (keyword: string, why: string, remedy: string): never =>
    document.refuse(node, keyword, why, remedy);
  const read = <T>(keyword: string, what: string, fits: (held: unknown) => held is T): T | undefined => {
    const held = has(keyword) ? value[keyword] : undefined;
    if (held === undefined || fits(held)) return held;
    return refuse(keyword, `${keyword} must be ${what}, not ${describe(held)}`, 'correct it');
  };
  const has = (keyword: string): boolean => Object.hasOwn(value, keyword) && value[keyword] !== undefined;
  const isNames = (held: unknown): held is string[] =>
    Array.isArray(held) && held.every((name) => typeof name === 'string');
  return {
    at,
    has,
    refuse,
    number: (keyword) => read(keyword, 'a number', (held): held is number => Number.isFinite(held)),
    count: (keyword) =>
      read(
        keyword,
        'a whole number from 0 on',
        (held): held is number => Number.isSafeInteger(held) && Number(held) >= 0,
      ),
    string: (keyword) => read(keyword, 'a string', (held) => typeof held === 'string'),
    list: (keyword) => read(keyword, 'a list', (held): held is unknown[] => Array.isArray(held)),
    map: (keyword) => {
      const held = read(keyword, 'an object', isObject);
      return held && Object.entries(held);
    },
    names: (keyword, held) => {
      if (held === undefined) return read(keyword, 'a list of names', isNames);
      return isNames(held) ? held : refuse(keyword, `${describe(held)} is not a list of names`, 'correct it');
    },
    term: (...keys) => context.enter(document.child(node, ...keys), dynamic),
  };
}
