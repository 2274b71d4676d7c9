// Makes terms by hash-consing: equal content is one object, so that the finitely many terms of a recursive schema are found again.

import { canonical } from '../json/json-value.ts';
import type { SchemaNode } from './document.ts';
import { ANY, NONE, UNDECLARED, type DynamicScope, type Json, type Shape, type Term } from './term.ts';

type Content<T> = T extends unknown ? Omit<T, 'id'> : never;

export class Terms {
  readonly #most: number;
  readonly #refuse: () => never;
  readonly #made = new Map<string, Term>();
  #shapes = 0;

  /** `refuse` is called, and has to throw, when there are more than `most` terms. */
  constructor(most: number, refuse: () => never) {
    this.#most = most;
    this.#refuse = refuse;
  }

  /** The values of a subschema reached from a dynamic scope. */
  schema(node: SchemaNode, dynamic: DynamicScope): Term {
    if (typeof node.value === 'boolean') return node.value ? ANY : NONE;
    const key = `schema ${node.index} ${dynamic.map(({ index }) => index).join()}`;
    return this.#make(key, { kind: 'schema', node, dynamic });
  }

  /** Returns the intersection of two terms. */
  all(of: Iterable<Term>): Term {
    return this.#combine('all', of, NONE, ANY);
  }

  /** The union. */
  some(of: Iterable<Term>): Term {
    return this.#combine('some', of, ANY, NONE);
  }

  /** The complement. */
  not(of: Term): Term {
    if (of.kind === 'any') return NONE;
    if (of === NONE) return ANY;
    return of.kind === 'not' ? of.of : this.#make(`not ${of.id}`, { kind: 'not', of });
  }

  /** A single value. */
  value(value: Json): Term {
    return this.#make(`value ${canonical(value)}`, { kind: 'value', value });
  }

  /** The values of a shape. Each call makes another term. */
  shape(shape: Shape): Term {
    return this.#make(`shape ${this.#shapes++}`, { kind: 'shape', shape });
  }

  /**
   * The parts of an intersection, in which one term of the values that are left replaces the terms that allow or exclude certain values.
   * So `{const: 'a'}` stays what it is beside `not: {const: 'b'}`. null: no value is left.
   */
  #withoutExcludedValues(parts: Term[]): Term[] | null {
    const lists = parts.flatMap((part) => {
      const values = valuesIn(part);
      return values === null ? [] : [values];
    });
    if (lists.length === 0) return parts;
    const left = new Set(lists[0]!.filter((value) => lists.every((list) => list.includes(value))));
    const others: Term[] = [];
    for (const part of parts) {
      const excluded = part.kind === 'not' ? valuesIn(part.of) : null;
      if (excluded !== null) for (const value of excluded) left.delete(value);
      else if (valuesIn(part) === null) others.push(part);
    }
    return left.size === 0 ? null : [this.some(left), ...others];
  }

  #make(key: string, content: Content<Term>): Term {
    let term = this.#made.get(key);
    if (term === undefined) {
      if (this.#made.size >= this.#most) this.#refuse();
      this.#made.set(key, (term = { ...content, id: this.#made.size + 3 } as Term));
    }
    return term;
  }

  /** `zero` absorbs all other parts, `one` is left out. */
  #combine(kind: 'all' | 'some', of: Iterable<Term>, zero: Term, one: Term): Term {
    const parts = new Map<number, Term>();
    let isDeclared = false;
    let isUndeclared = false;
    for (const term of of) {
      for (const part of term.kind === kind ? term.of : [term]) {
        if (part === zero || part.kind === zero.kind) return zero;
        if (part === UNDECLARED) isUndeclared = true;
        else isDeclared = true;
        if (part.kind !== one.kind) parts.set(part.id, part);
      }
    }
    if (kind === 'all' && isUndeclared && !isDeclared) return UNDECLARED;
    for (const part of parts.values()) {
      if (part.kind === 'not' && parts.has(part.of.id)) return zero;
    }
    const kept = kind === 'all' ? this.#withoutExcludedValues([...parts.values()]) : [...parts.values()];
    if (kept === null) return zero;
    const list = kept.toSorted((a, b) => a.id - b.id);
    if (list.length <= 1) return list[0] ?? one;
    return this.#make(`${kind} ${list.map(({ id }) => id).join()}`, { kind, of: list });
  }
}

/** The parts of a term that allows few values; null: it is not known to. */
function valuesIn(term: Term): readonly Term[] | null {
  if (term.kind === 'value') return [term];
  return term.kind === 'some' && term.of.every(({ kind }) => kind === 'value') ? term.of : null;
}
