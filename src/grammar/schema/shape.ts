// Operations on shapes, the normal form of schemas: intersection, union and complement.

import { boundLength, lengthProduct } from '../automata/length-bound.ts';
import { uniteAll } from '../automata/determinize.ts';
import { ANY_TEXT, complementOf, intersect, isEmpty, NOTHING, type Dfa } from '../automata/dfa.ts';
import { ANY_ARRAY, complementArray, intersectArrays } from './array-shape.ts';
import type { Context } from './context.ts';
import {
  ALL_NUMBERS,
  complementNumbers,
  intersectNumbers,
  oneOfNumbers,
  uniteNumbers,
} from './number-set.ts';
import { ANY_OBJECT, complementObject, intersectObjects } from './object-shape.ts';
import { wordsDfa } from '../automata/word-dfa.ts';
import { NONE, WORDS, type Json, type Shape } from './term.ts';

/** The shape of no value. */
export const NO_SHAPE: Shape = {
  words: [],
  numbers: [],
  strings: NOTHING,
  longest: Infinity,
  arrays: [],
  objects: [],
};

/** The shape of all values. */
export const ANY_SHAPE: Shape = {
  words: WORDS,
  numbers: ALL_NUMBERS,
  strings: ANY_TEXT,
  longest: Infinity,
  arrays: [ANY_ARRAY],
  objects: [ANY_OBJECT],
};

/** Most alternatives of one type; each costs time at every level. */
const MOST_ALTERNATIVES = 512;

/** Steps that the intersection of two alternatives counts as, without the automata in it. */
const MEET_STEPS = 2000;

export function intersectShapes(a: Shape, b: Shape, context: Context): Shape {
  if (a === ANY_SHAPE) return b;
  if (b === ANY_SHAPE) return a;
  return {
    words: a.words.filter((word) => b.words.includes(word)),
    numbers: intersectNumbers(a.numbers, b.numbers),
    ...intersectStrings(a, b, context),
    arrays: pairwise(a.arrays, b.arrays, ANY_ARRAY, intersectArrays, context),
    objects: pairwise(a.objects, b.objects, ANY_OBJECT, intersectObjects, context),
  };
}

/**
 * The intersections of each alternative of `a` with each of `b`. `any`: the alternative that allows everything. An alternative that another
 * one of the other side contains takes no further part: its intersections with the rest lie within it.
 */
function pairwise<T extends object>(
  a: readonly T[],
  b: readonly T[],
  any: T,
  meet: (x: T, y: T, context: Context) => T | null,
  context: Context,
): readonly T[] {
  if (a.length === 1 && a[0] === any) return b;
  if (b.length === 1 && b[0] === any) return a;
  const met = new Map<string, T>();
  const contained = new Set<T>();
  for (const x of a) {
    const found = new Map<string, T>();
    for (const y of b) {
      if (contained.has(y)) continue;
      context.bounds.work.spend(MEET_STEPS);
      const both = meet(x, y, context);
      if (both === null) continue;
      const key = contentKey(both);
      if (key === contentKey(x)) {
        found.clear();
        found.set(key, both);
        break;
      }
      if (key === contentKey(y)) contained.add(y);
      found.set(key, both);
    }
    for (const [key, both] of found) met.set(key, both);
    checkAlternatives(met, context);
  }
  return [...met.values()];
}

/** The union of all shapes at once; uniting them one after the other would take quadratic time. */
export function uniteShapes(all: readonly Shape[], context: Context): Shape {
  const shapes = all.filter((shape) => shape !== NO_SHAPE);
  if (shapes.length <= 1) return shapes[0] ?? NO_SHAPE;
  return {
    words: WORDS.filter((word) => shapes.some(({ words }) => words.includes(word))),
    numbers: uniteNumbers(...shapes.map(({ numbers }) => numbers)),
    ...uniteStrings(shapes, context),
    arrays: join(
      shapes.map(({ arrays }) => arrays),
      ANY_ARRAY,
      context,
    ),
    objects: join(
      shapes.map(({ objects }) => objects),
      ANY_OBJECT,
      context,
    ),
  };
}

function join<T extends object>(lists: readonly (readonly T[])[], any: T, context: Context): readonly T[] {
  if (lists.some((list) => list.includes(any))) return [any];
  const joined = new Map<string, T>();
  for (const list of lists) {
    for (const each of list) joined.set(contentKey(each), each);
    checkAlternatives(joined, context);
  }
  return [...joined.values()];
}

function checkAlternatives({ size }: { size: number }, context: Context): void {
  if (size > MOST_ALTERNATIVES) context.tooLarge(`more than ${MOST_ALTERNATIVES} alternatives of one type`);
}

const automata = new WeakMap<Dfa, string>();

const keys = new WeakMap<object, string>();

/** A key that is equal for alternatives with equal content. */
function contentKey(content: object): string {
  let key = keys.get(content);
  if (key === undefined) keys.set(content, (key = findKey(content)));
  return key;
}

function findKey(content: object): string {
  return JSON.stringify(content, (key, part: unknown) => {
    if (key === 'at') return undefined; // where a condition comes from is for messages
    if (part instanceof Map) return [...part].toSorted(([x], [y]) => (x < y ? -1 : 1));
    if (part instanceof Set) return [...part].map(String).toSorted();
    if (typeof part === 'object' && part !== null && 'kind' in part && 'id' in part) return part.id;
    return typeof part === 'object' && part !== null && 'accept' in part ? dfaKey(part as Dfa) : part;
  });
}

function dfaKey(dfa: Dfa): string {
  let key = automata.get(dfa);
  if (key === undefined) {
    const { starts, classes, next, accept } = dfa;
    automata.set(dfa, (key = [starts, classes, next, accept].map((part) => part.join()).join(' ')));
  }
  return key;
}

export function complementShape(shape: Shape, context: Context): Shape {
  return subtractShapes(ANY_SHAPE, shape, context);
}

/** The values of `a` that are not in `b`. Alternatives of `b` are removed one after the other, so that each finds few of `a` left. */
export function subtractShapes(a: Shape, b: Shape, context: Context): Shape {
  let { arrays, objects } = a;
  for (const each of b.arrays)
    arrays = pairwise(arrays, complementArray(each, context), ANY_ARRAY, intersectArrays, context);
  for (const each of b.objects)
    objects = pairwise(objects, complementObject(each, context), ANY_OBJECT, intersectObjects, context);
  const others = { strings: complementTexts(stringsOf(b, context), context), longest: Infinity };
  return {
    words: a.words.filter((word) => !b.words.includes(word)),
    numbers: intersectNumbers(a.numbers, complementNumbers(b.numbers)),
    ...intersectStrings(a, others, context),
    arrays,
    objects,
  };
}

type Strings = Pick<Shape, 'strings' | 'longest'>;

/** The strings as one DFA. */
export function stringsOf({ strings, longest }: Strings, { bounds }: Context): Dfa {
  return lengthProduct(strings, longest, bounds);
}

function intersectStrings(a: Strings, b: Strings, context: Context): Strings {
  const longest = Math.min(a.longest, b.longest);
  const { dfa, ...rest } = boundLength(
    intersectTexts(a.strings, b.strings, context),
    longest,
    context.bounds,
  );
  return { strings: dfa, ...rest };
}

function uniteStrings(all: readonly Strings[], context: Context): Strings {
  const some = all.filter(({ strings }) => !isEmpty(strings));
  if (some.length === 0) return { strings: NOTHING, longest: Infinity };
  if (some.length === 1) return { strings: some[0]!.strings, longest: some[0]!.longest };
  if (some.some(({ strings, longest }) => strings === ANY_TEXT && longest === Infinity))
    return { strings: ANY_TEXT, longest: Infinity };
  const automata = new Set(some.map((each) => stringsOf(each, context)));
  return {
    strings: automata.size === 1 ? [...automata][0]! : uniteAll([...automata], context.bounds),
    longest: Infinity,
  };
}

function intersectTexts(a: Dfa, b: Dfa, { bounds }: Context): Dfa {
  if (a === ANY_TEXT || a === b || isEmpty(b)) return b;
  return b === ANY_TEXT || isEmpty(a) ? a : intersect(a, b, bounds);
}

function complementTexts(a: Dfa, { bounds }: Context): Dfa {
  if (a === ANY_TEXT) return NOTHING;
  return isEmpty(a) ? ANY_TEXT : complementOf(a, bounds);
}

/** The shape of exactly these values. */
export function shapeOfValues(
  values: readonly Json[],
  { bounds, terms, keepsDeclared, isClosed }: Context,
): Shape {
  const strings = values.filter((value) => typeof value === 'string');
  return {
    words: WORDS.filter((word) => values.includes(word)),
    numbers: oneOfNumbers(values.filter((value) => typeof value === 'number')),
    strings: wordsDfa(strings, bounds),
    longest: Infinity,
    arrays: values.filter(Array.isArray).map((value) => ({
      ...ANY_ARRAY,
      prefix: value.map((each) => terms.value(each)),
      rest: NONE,
      min: value.length,
    })),
    objects: values.filter(isRecord).map((value) => ({
      ...ANY_OBJECT,
      named: new Map(Object.entries(value).map(([name, member]) => [name, terms.value(member)])),
      classes: [{ names: ANY_TEXT, term: NONE }],
      required: new Set(Object.keys(value)),
      declared: keepsDeclared ? { names: Object.keys(value), closes: isClosed } : null,
    })),
  };
}

const isRecord = (value: Json): value is { [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether the shape is that of all values; false also where that is not found quickly. */
export function isAnyShape(shape: Shape): boolean {
  const { words, numbers, strings, longest, arrays, objects } = shape;
  const texts = strings === ANY_TEXT && longest === Infinity;
  const scalars = words.length === WORDS.length && numbers === ALL_NUMBERS && texts;
  return scalars && arrays.includes(ANY_ARRAY) && objects.includes(ANY_OBJECT);
}
