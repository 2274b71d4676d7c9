// Works terms out into shapes: a subschema or a combination, down to its elements and properties, which stay terms. Each term is worked
// out once.

import { isEmpty as isEmptyDfa, type Limits } from '../automata/dfa.ts';
import { AlikeSubschemas } from './alike-subschemas.ts';
import { applicators, type Option } from './applicators.ts';
import { assertions } from './assertions.ts';
import type { Context } from './context.ts';
import type { SchemaDocument, SchemaNode } from './document.ts';
import {
  evaluatedByBoth,
  evaluatesNothing,
  NOTHING_EVALUATED,
  unevaluatedItems,
  unevaluatedProperties,
  type Evaluated,
} from './evaluated.ts';
import { readSchema, type KeywordReader } from './keyword-reader.ts';
import {
  ANY_SHAPE,
  complementShape,
  intersectShapes,
  NO_SHAPE,
  shapeOfValues,
  subtractShapes,
  uniteShapes,
} from './shape.ts';
import { listedValues } from './listed-values.ts';
import {
  ANY,
  NONE,
  UNDECLARED,
  type DynamicScope,
  type Json,
  type ObjectShape,
  type Shape,
  type Term,
} from './term.ts';
import { Terms } from './terms.ts';

const MOST_TERMS = 20_000;
/** Steps that working out a term counts as, without the automata in it. */
const TERM_STEPS = 2000;
const MOST_ALTERNATIVES = 256;
/** Levels below a term that isEmpty() looks at. */
const EMPTY_DEPTH = 3;

type SchemaTerm = Term & { kind: 'schema' };

/** Thrown where isEmpty() meets a term that is being worked out outside of its question: the answer is left open. */
class Unfinished extends Error {}

/** The values that a schema allows among those of which it has evaluated these elements and properties. */
interface Alternative {
  shape: Shape;
  evaluated: Evaluated;
}

export class Normalizer implements Context {
  readonly document: SchemaDocument;
  readonly bounds: Limits;
  readonly terms: Terms;
  readonly isClosed: boolean;
  readonly keepsDeclared: boolean;
  readonly opened = new Set<ObjectShape>();
  readonly #alike = new AlikeSubschemas();
  readonly #shapes = new Map<Term, Shape>();
  readonly #alternatives = new Map<Term, Alternative[]>();
  readonly #empty = new Map<Term, boolean>([
    [ANY, false],
    [UNDECLARED, false],
    [NONE, true],
  ]);
  /** Terms being worked out, outermost first, each with the isEmpty() question that it belongs to. */
  readonly #open: { term: Term; question: number }[] = [];
  /** The current isEmpty() question; 0: none. */
  #question = 0;

  constructor(
    document: SchemaDocument,
    bounds: Limits,
    { isOrdered, isClosed }: { isOrdered: boolean; isClosed: boolean },
  ) {
    this.isClosed = isClosed;
    this.keepsDeclared = isOrdered || isClosed;
    this.document = document;
    this.bounds = bounds;
    this.terms = new Terms(MOST_TERMS, () =>
      this.tooLarge(`more than ${MOST_TERMS} combinations of subschemas`),
    );
  }

  shapeOf(term: Term): Shape {
    let shape = this.#shapes.get(term);
    if (shape === undefined) this.#shapes.set(term, (shape = this.#guarded(term, () => this.#workOut(term))));
    return shape;
  }

  enter(node: SchemaNode, dynamic: DynamicScope): Term {
    const values = listedValues(node.keywords);
    if (values !== null) return this.terms.some(values.map((value) => this.terms.value(value)));
    const isNew = this.document.hasDynamicAnchors && !dynamic.includes(node.resource);
    return this.terms.schema(this.#alike.firstOf(node), isNew ? [...dynamic, node.resource] : dynamic);
  }

  isEmpty(term: Term): boolean {
    return this.#isEmptyWithin(term, EMPTY_DEPTH);
  }

  place(): string {
    const inner = this.#open.findLast(({ term }) => term.kind === 'schema')?.term;
    return inner?.kind === 'schema' ? inner.node.path : '';
  }

  cannot(at: string, keyword: string, why: string): never {
    return this.document.refuse({ path: at }, keyword, why, 'say it another way');
  }

  tooLarge(why: string): never {
    return this.document.refuse(this.document.root, null, `it takes ${why}`, 'simplify it');
  }

  /** Runs `work`; refuses a schema that applies itself to the same value without end. */
  #guarded<T>(term: Term, work: () => T): T {
    const open = this.#open.find((other) => other.term === term);
    if (open !== undefined) {
      if (open.question !== this.#question) throw new Unfinished();
      const at = { path: this.place() };
      this.document.refuse(at, null, 'it refers to itself for the same value', 'break the cycle');
    }
    this.#open.push({ term, question: this.#question });
    try {
      return work();
    } finally {
      this.#open.pop();
    }
  }

  #workOut(term: Term): Shape {
    this.bounds.work.spend(TERM_STEPS);
    switch (term.kind) {
      case 'any':
        return ANY_SHAPE;
      case 'none':
        return NO_SHAPE;
      case 'value':
        return shapeOfValues([term.value], this);
      case 'shape':
        return term.shape;
      case 'not':
        return complementShape(this.shapeOf(term.of), this);
      case 'all':
        return this.#workOutIntersection(term.of);
      case 'some':
        return this.#workOutUnion(term.of);
      case 'schema':
        return this.#workOutSchema(term);
    }
  }

  /** The intersection of terms; what some of them exclude is joined, so that its texts are complemented at once, and removed from the rest. */
  #workOutIntersection(of: readonly Term[]): Shape {
    const excluded = of.flatMap((each) => (each.kind === 'not' ? [each.of] : []));
    const shape = of
      .filter((each) => each.kind !== 'not')
      .map((each) => this.shapeOf(each))
      .reduce((a, b) => {
        this.bounds.work.spend(TERM_STEPS);
        return intersectShapes(a, b, this);
      }, ANY_SHAPE);
    return excluded.length === 0
      ? shape
      : subtractShapes(shape, this.shapeOf(this.terms.some(excluded)), this);
  }

  /** The union of many values and other terms; the values are united first. */
  #workOutUnion(of: readonly Term[]): Shape {
    const values = of.flatMap((each): Json[] => (each.kind === 'value' ? [each.value] : []));
    const others = of.filter((each) => each.kind !== 'value').map((each) => this.shapeOf(each));
    const first = values.length === 0 ? NO_SHAPE : shapeOfValues(values, this);
    return uniteShapes([first, ...others], this);
  }

  #workOutSchema(term: SchemaTerm): Shape {
    const reader = this.#read(term);
    if (reader.has('unevaluatedProperties') || reader.has('unevaluatedItems')) {
      const found = this.#alternatives.get(term) ?? this.#workOutAlternatives(term);
      this.#alternatives.set(term, found);
      return uniteShapes(
        found.map(({ shape }) => shape),
        this,
      );
    }
    return applicators(reader, false, this).reduce((shape, { options }) => {
      const choice = options.map(({ of, where }) => this.terms.all([...of, where]));
      return intersectShapes(shape, this.shapeOf(this.terms.some(choice)), this);
    }, assertions(reader, this).shape);
  }

  #read(term: SchemaTerm): KeywordReader {
    return readSchema({ ...term, value: term.node.keywords }, this);
  }

  /**
   * The shapes of a term by what it has evaluated. A value that is in two of them is in one that has evaluated what both have, so
   * unevaluatedItems and unevaluatedProperties can restrict each by itself.
   */
  #alternativesOf(term: Term): Alternative[] {
    if (term.kind !== 'schema') return [{ shape: this.shapeOf(term), evaluated: NOTHING_EVALUATED }];
    let found = this.#alternatives.get(term);
    if (found === undefined) {
      found = this.#guarded(term, () => this.#workOutAlternatives(term));
      this.#alternatives.set(term, found);
    }
    return found;
  }

  #workOutAlternatives(term: SchemaTerm): Alternative[] {
    const reader = this.#read(term);
    let found: Alternative[] = [assertions(reader, this)];
    for (const { options } of applicators(reader, true, this)) {
      const choices = this.#joined(options.flatMap((option) => this.#alternativesOfOption(option)));
      found = found.flatMap((a) => choices.flatMap((b) => this.#meet(a, b)));
      if (found.length > MOST_ALTERNATIVES)
        this.tooLarge(`more than ${MOST_ALTERNATIVES} ways of having seen its properties`);
    }
    for (const [keyword, restriction, after] of [
      ['unevaluatedItems', unevaluatedItems, { items: Infinity }],
      ['unevaluatedProperties', unevaluatedProperties, { names: 'all' }],
    ] as const) {
      if (!reader.has(keyword)) continue;
      const term = reader.term(keyword);
      found = found.map(({ shape, evaluated }) => ({
        shape: intersectShapes(shape, restriction(evaluated, term, this), this),
        evaluated: { ...evaluated, ...after },
      }));
    }
    return found;
  }

  #alternativesOfOption({ of, where }: Option): Alternative[] {
    const start: Alternative[] = [{ shape: this.shapeOf(where), evaluated: NOTHING_EVALUATED }];
    return of.reduce(
      (all, term) => all.flatMap((a) => this.#alternativesOf(term).flatMap((b) => this.#meet(a, b))),
      start,
    );
  }

  /** The intersection of two alternatives; none where it is empty. */
  #meet(a: Alternative, b: Alternative): Alternative[] {
    const shape = intersectShapes(a.shape, b.shape, this);
    if (this.#isNothing(shape, EMPTY_DEPTH)) return [];
    return [{ shape, evaluated: evaluatedByBoth(a.evaluated, b.evaluated) }];
  }

  /** Unites the alternatives that have evaluated nothing. */
  #joined(list: Alternative[]): Alternative[] {
    const blind = list.filter(({ evaluated }) => evaluatesNothing(evaluated));
    if (blind.length < 2) return list;
    const shape = uniteShapes(
      blind.map((each) => each.shape),
      this,
    );
    const others = list.filter(({ evaluated }) => !evaluatesNothing(evaluated));
    return [{ shape, evaluated: NOTHING_EVALUATED }, ...others];
  }

  #isEmptyWithin(term: Term, depth: number): boolean {
    const known = this.#empty.get(term);
    if (known !== undefined) return known;
    if (depth === 0) return false;
    const outer = this.#question;
    this.#question = this.#open.length + 1;
    try {
      const answer = this.#isNothing(this.shapeOf(term), depth);
      // Near the depth limit, false may also mean that the search gave up.
      if (answer || depth === EMPTY_DEPTH) this.#empty.set(term, answer);
      return answer;
    } catch (error) {
      if (error instanceof Unfinished) return false;
      throw error;
    } finally {
      this.#question = outer;
    }
  }

  #isNothing(shape: Shape, depth: number): boolean {
    if (shape.words.length + shape.numbers.length > 0) return false;
    if (!isEmptyDfa(shape.strings)) return false;
    const isNone = (term: Term): boolean => this.#isEmptyWithin(term, depth - 1);
    return (
      shape.arrays.every(({ prefix, rest, min }) =>
        Array.from({ length: Math.min(min, prefix.length + 1) }, (_, at) => prefix[at] ?? rest).some(isNone),
      ) &&
      shape.objects.every(({ named, required }) =>
        [...required].some((name) => isNone(named.get(name) ?? NONE)),
      )
    );
  }
}
