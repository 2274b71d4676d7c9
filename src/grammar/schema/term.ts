// What a value must be, named but not yet worked out: subschemas and their and, or, not. A term is made once for what it says
// and compared by identity, so that the finitely many terms of a recursive schema are found again.

import type { Resource, SchemaNode } from './document.ts';
import type { Shape } from './shape.ts';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** The resources passed through on the way to a subschema, outermost first: where $dynamicRef looks. */
export type DynamicScope = readonly Resource[];

export type Term = { readonly id: number } & (
  | { readonly kind: 'any' | 'none' }
  | { readonly kind: 'schema'; readonly node: SchemaNode; readonly dynamic: DynamicScope }
  | { readonly kind: 'all' | 'some'; readonly of: readonly Term[] }
  | { readonly kind: 'not'; readonly of: Term }
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'shape'; readonly shape: Shape }
);

type Content<T> = T extends unknown ? Omit<T, 'id'> : never;

export const ANY: Term = { id: 0, kind: 'any' };
export const NONE: Term = { id: 1, kind: 'none' };

export interface Terms {
  schema(node: SchemaNode, dynamic: DynamicScope): Term;
  all(of: Iterable<Term>): Term;
  some(of: Iterable<Term>): Term;
  not(of: Term): Term;
  value(value: Json): Term;
  /** A term for this shape object; equal shapes are not found again. */
  shape(shape: Shape): Term;
}

export function createTerms(most: number, refuse: () => never): Terms {
  const made = new Map<string, Term>();
  const make = (key: string, content: Content<Term>): Term => {
    let term = made.get(key);
    if (term === undefined) {
      if (made.size >= most) refuse();
      made.set(key, (term = { ...content, id: made.size + 2 } as Term));
    }
    return term;
  };
  let shapes = 0;

  /** `zero` decides alone, `one` says nothing. */
  function combine(kind: 'all' | 'some', of: Iterable<Term>, zero: Term, one: Term): Term {
    const parts = new Map<number, Term>();
    for (const term of of) {
      for (const part of term.kind === kind ? term.of : [term]) {
        if (part === zero) return zero;
        if (part !== one) parts.set(part.id, part);
      }
    }
    for (const part of parts.values()) {
      if (part.kind === 'not' && parts.has(part.of.id)) return zero;
    }
    const list = [...parts.values()].toSorted((a, b) => a.id - b.id);
    if (list.length <= 1) return list[0] ?? one;
    return make(`${kind} ${list.map(({ id }) => id).join()}`, { kind, of: list });
  }

  return {
    schema(node, dynamic) {
      if (typeof node.value === 'boolean') return node.value ? ANY : NONE;
      const key = `schema ${node.index} ${dynamic.map(({ index }) => index).join()}`;
      return make(key, { kind: 'schema', node, dynamic });
    },
    all: (of) => combine('all', of, NONE, ANY),
    some: (of) => combine('some', of, ANY, NONE),
    not(of) {
      if (of === ANY) return NONE;
      if (of === NONE) return ANY;
      return of.kind === 'not' ? of.of : make(`not ${of.id}`, { kind: 'not', of });
    },
    value: (value) => make(`value ${canonical(value)}`, { kind: 'value', value }),
    shape: (shape) => make(`shape ${shapes++}`, { kind: 'shape', shape }),
  };
}

/** One text for each value, whatever the order of its members. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value === 0 ? 0 : value);
  const names = Object.keys(value).toSorted();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name]!)}`).join()}}`;
}
