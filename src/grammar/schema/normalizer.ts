// From terms to shapes: one subschema, or what is put together of several, worked out down to its elements and properties, which
// stay terms. Each term is worked out once.

import { checkTime, isEmpty as isEmptyDfa, type Limits } from '../dfa.ts';
import { applicators, type Option } from './applicators.ts';
import type { Context } from './context.ts';
import type { SchemaDocument } from './document.ts';
import { ownKeywords } from './assertions.ts';
import { readSchema, type Reader } from './keyword-reader.ts';
import {
  NOTHING_SEEN,
  seenByBoth,
  seesNothing,
  unseenItems,
  unseenProperties,
  type Seen,
} from './evaluated.ts';
import {
  ANY_SHAPE,
  complementShape,
  intersectShapes,
  NO_SHAPE,
  shapeOfValues,
  uniteShapes,
  type Shape,
} from './shape.ts';
import { ANY, createTerms, NONE, type Json, type Term } from './term.ts';

const MOST_TERMS = 20_000;
const MOST_ALTERNATIVES = 256;
/** How far below a term isEmpty looks. */
const EMPTY_DEPTH = 3;

/** A term met again while it is worked out, seen from a question whose answer may be left open. */
class Unfinished extends Error {}

/** What a schema allows where it has looked at so much. */
interface Alternative {
  shape: Shape;
  seen: Seen;
}

export function createContext(document: SchemaDocument, bounds: Limits): Context {
  const shapes = new Map<Term, Shape>();
  const annotated = new Map<Term, Alternative[]>();
  const empty = new Map<Term, boolean>([
    [ANY, false],
    [NONE, true],
  ]);
  /** Terms being worked out, outermost first, each with the question it is part of. */
  const open: { term: Term; question: number }[] = [];
  let question = 0;

  const tooLarge = (why: string): never =>
    document.refuse(document.root, null, `it takes ${why}`, 'simplify it');

  const context: Context = {
    document,
    bounds,
    terms: createTerms(MOST_TERMS, () => tooLarge(`more than ${MOST_TERMS} combinations of subschemas`)),
    shapeOf,
    isEmpty: (term) => isEmpty(term),
    enter(node, dynamic) {
      const entered = document.dynamic && !dynamic.includes(node.resource);
      return context.terms.schema(node, entered ? [...dynamic, node.resource] : dynamic);
    },
    place() {
      const inner = open.findLast(({ term }) => term.kind === 'schema')?.term;
      return inner?.kind === 'schema' ? inner.node.path : '';
    },
    cannot: (at, keyword, why) =>
      document.refuse({ ...document.root, path: at }, keyword, why, 'say it another way'),
    tooLarge,
  };

  function shapeOf(term: Term): Shape {
    let shape = shapes.get(term);
    if (shape === undefined) shapes.set(term, (shape = working(term, () => workOut(term))));
    return shape;
  }

  /** Guards against a schema that applies itself to the same value for ever. */
  function working<T>(term: Term, work: () => T): T {
    const before = open.find((other) => other.term === term);
    if (before !== undefined) {
      if (before.question !== question) throw new Unfinished();
      const node = { ...document.root, path: context.place() };
      document.refuse(node, null, 'it refers to itself for the same value', 'break the cycle');
    }
    open.push({ term, question });
    try {
      return work();
    } finally {
      open.pop();
    }
  }

  function workOut(term: Term): Shape {
    checkTime(bounds);
    switch (term.kind) {
      case 'any':
        return ANY_SHAPE;
      case 'none':
        return NO_SHAPE;
      case 'value':
        return shapeOfValues([term.value], context);
      case 'shape':
        return term.shape;
      case 'not':
        return complementShape(shapeOf(term.of), context);
      case 'all':
        return term.of.map(shapeOf).reduce((a, b) => intersectShapes(a, b, context), ANY_SHAPE);
      case 'some': {
        const values = term.of.flatMap((each): Json[] => (each.kind === 'value' ? [each.value] : []));
        const others = term.of.filter((each) => each.kind !== 'value').map(shapeOf);
        const first = values.length === 0 ? NO_SHAPE : shapeOfValues(values, context);
        return uniteShapes([first, ...others], context);
      }
      case 'schema': {
        const reader = readSchema({ ...term, value: term.node.keywords }, context);
        if (asksUnseen(reader)) {
          const found = annotated.get(term) ?? workOutSeen(term);
          annotated.set(term, found);
          return uniteShapes(
            found.map(({ shape }) => shape),
            context,
          );
        }
        return applicators(reader, false, context).reduce((shape, { options }) => {
          const choice = options.map(({ of, where }) => context.terms.all([...of, where]));
          return intersectShapes(shape, shapeOf(context.terms.some(choice)), context);
        }, ownKeywords(reader, context).shape);
      }
    }
  }

  const asksUnseen = (reader: Reader): boolean =>
    reader.has('unevaluatedProperties') || reader.has('unevaluatedItems');

  /**
   * The shapes of a term by what it has looked at. A value in two of them is in one that has seen what both have, so that
   * demands on the unseen may be made of each apart.
   */
  function alternatives(term: Term): Alternative[] {
    if (term.kind !== 'schema') return [{ shape: shapeOf(term), seen: NOTHING_SEEN }];
    let found = annotated.get(term);
    if (found === undefined) annotated.set(term, (found = working(term, () => workOutSeen(term))));
    return found;
  }

  function workOutSeen(term: Term & { kind: 'schema' }): Alternative[] {
    const reader = readSchema({ ...term, value: term.node.keywords }, context);
    let found: Alternative[] = [ownKeywords(reader, context)];
    for (const { options } of applicators(reader, true, context)) {
      const choices = joined(options.flatMap(ofOption));
      found = found.flatMap((a) => choices.flatMap((b) => meet(a, b)));
      if (found.length > MOST_ALTERNATIVES)
        tooLarge(`more than ${MOST_ALTERNATIVES} ways of having seen its properties`);
    }
    for (const [keyword, unseen, seen] of [
      ['unevaluatedItems', unseenItems, { items: Infinity }],
      ['unevaluatedProperties', unseenProperties, { names: 'all' }],
    ] as const) {
      if (!reader.has(keyword)) continue;
      const demanded = reader.term(keyword);
      found = found.map((each) => ({
        shape: intersectShapes(each.shape, unseen(each.seen, demanded, context), context),
        seen: { ...each.seen, ...seen },
      }));
    }
    return found;
  }

  function ofOption({ of, where }: Option): Alternative[] {
    const start: Alternative[] = [{ shape: shapeOf(where), seen: NOTHING_SEEN }];
    return of.reduce((all, term) => all.flatMap((a) => alternatives(term).flatMap((b) => meet(a, b))), start);
  }

  /** None, or one: both hold. */
  function meet(a: Alternative, b: Alternative): Alternative[] {
    const shape = intersectShapes(a.shape, b.shape, context);
    return isNothing(shape, EMPTY_DEPTH) ? [] : [{ shape, seen: seenByBoth(a.seen, b.seen) }];
  }

  /** Alternatives that have seen nothing are one. */
  function joined(list: Alternative[]): Alternative[] {
    const blind = list.filter(({ seen }) => seesNothing(seen));
    if (blind.length < 2) return list;
    const shape = uniteShapes(
      blind.map((each) => each.shape),
      context,
    );
    return [{ shape, seen: NOTHING_SEEN }, ...list.filter(({ seen }) => !seesNothing(seen))];
  }

  function isEmpty(term: Term, depth = EMPTY_DEPTH): boolean {
    const known = empty.get(term);
    if (known !== undefined) return known;
    if (depth === 0) return false;
    const outer = question;
    question = open.length + 1;
    try {
      const answer = isNothing(shapeOf(term), depth);
      // A "no" from near the depth's end may be a "not seen".
      if (answer || depth === EMPTY_DEPTH) empty.set(term, answer);
      return answer;
    } catch (error) {
      if (error instanceof Unfinished) return false;
      throw error;
    } finally {
      question = outer;
    }
  }

  function isNothing(shape: Shape, depth: number): boolean {
    if (shape.null || shape.true || shape.false || shape.numbers.length > 0) return false;
    if (!isEmptyDfa(shape.strings)) return false;
    const none = (term: Term): boolean => isEmpty(term, depth - 1);
    return (
      shape.arrays.every(({ prefix, rest, min }) =>
        Array.from({ length: Math.min(min, prefix.length + 1) }, (_, at) => prefix[at] ?? rest).some(none),
      ) &&
      shape.objects.every(({ named, required }) =>
        [...required].some((name) => none(named.get(name) ?? NONE)),
      )
    );
  }

  return context;
}
