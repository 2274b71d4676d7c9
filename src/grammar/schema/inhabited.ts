// Finds the inhabited terms, those that some finite value has, as a least fixpoint: a term whose values would contain themselves without
// end is empty. Shapes lose empty alternatives and properties that cannot occur.

import { countTexts } from '../automata/dfa-language.ts';
import { isEmpty, subtract } from '../automata/dfa.ts';
import { elementOf } from './array-shape.ts';
import { meetConditions, termsOfKinds, type KindShape } from './conditions.ts';
import type { Context } from './context.ts';
import {
  areCompared,
  differingElements,
  elementKindsAt,
  needsAutomaton,
  distinctPlaces,
  elementAutomaton,
} from './element-automaton.ts';
import { numberTexts } from './number.ts';
import { closedShape } from './declared.ts';
import { termOf } from './object-shape.ts';
import { wordsDfa } from '../automata/word-dfa.ts';
import { valueCount } from './value-count.ts';
import { NONE, type ArrayShape, type IsInhabited, type ObjectShape, type Shape, type Term } from './term.ts';

/** The terms that `root` consists of, and whether each of them is inhabited. */
export function inhabitedTerms(root: Term, context: Context): { terms: Set<Term>; isInhabited: IsInhabited } {
  const terms = new Set([root]);
  for (const term of terms) {
    for (const part of partsOf(context.shapeOf(term), context)) terms.add(part);
  }
  const inhabited = new Set<Term>();
  const isInhabited: IsInhabited = (term) => inhabited.has(term);
  // The terms found last are mostly the innermost ones; beginning with them takes few rounds.
  let pending = [...terms].toReversed();
  const find = (): void => {
    for (let before = -1; before !== inhabited.size;) {
      before = inhabited.size;
      pending = pending.filter((term) => {
        const isFound = isShapeInhabited(context.shapeOf(term), isInhabited, context);
        if (isFound) inhabited.add(term);
        return !isFound;
      });
    }
  };
  find();
  if (context.isClosed) openObjects([...terms].toReversed(), isInhabited, { find, context });
  return { terms, isInhabited };
}

/** Opens the objects that no declared properties alone fulfil, innermost ones first, where others do. `find` adds the terms that this makes inhabited. */
function openObjects(
  terms: readonly Term[],
  isInhabited: IsInhabited,
  { find, context }: { find(): void; context: Context },
): void {
  const isEmptyObject = (object: ObjectShape): boolean =>
    inhabitedReadings(object, isInhabited, context).length === 0;
  let empty = terms
    .flatMap((term) => context.shapeOf(term).objects)
    .filter((object) => closedShape(object) !== object && isEmptyObject(object));
  for (let before = -1; before !== empty.length;) {
    before = empty.length;
    empty = empty.filter((object) => {
      if (!isEmptyObject(object)) return false;
      context.opened.add(object);
      if (isEmptyObject(object)) return context.opened.delete(object);
      find();
      return false;
    });
  }
}

/** Terms of the elements and properties of a shape. */
function partsOf(shape: Shape, context: Context): Term[] {
  return [
    ...shape.arrays.flatMap((array) => {
      if (differingElements(array, context) !== null) return [];
      if (!needsAutomaton(array) || areCompared(array, context)) return [...array.prefix, array.rest];
      const places = Array.from({ length: distinctPlaces(array) + 1 }, (_, at) =>
        elementKindsAt(array, at, context),
      );
      return places.flatMap((kinds) => kinds.map(({ term }) => term));
    }),
    ...[...new Set(shape.objects.flatMap((object) => [closedShape(object), object]))].flatMap((object) => [
      ...object.named.values(),
      ...object.classes.map(({ term }) => term),
      ...termsOfKinds(object, context),
    ]),
  ];
}

function isShapeInhabited(shape: Shape, isInhabited: IsInhabited, context: Context): boolean {
  return (
    shape.words.length > 0 ||
    !isEmpty(shape.strings) ||
    numberTexts(shape.numbers, context.bounds).length > 0 ||
    shape.arrays.some((array) => isArrayInhabited(array, isInhabited, context)) ||
    inhabitedObjects(shape, isInhabited, context).length > 0
  );
}

export function isArrayInhabited(shape: ArrayShape, isInhabited: IsInhabited, context: Context): boolean {
  const differing = differingElements(shape, context);
  if (differing !== null) {
    const size = differing.others.length + (countTexts(differing.strings)[0] ?? 0);
    return shape.min <= Math.min(shape.max, size);
  }
  if (areCompared(shape, context)) {
    const isEnough =
      shape.min <= 1 ||
      shape.prefix.length > 0 ||
      valueCount(shape.rest, isInhabited, context).most >= shape.min;
    return isEnough && shape.min <= Math.min(shape.max, mostElements(shape, isInhabited));
  }
  if (needsAutomaton(shape)) return elementAutomaton(shape, isInhabited, context).states.length > 0;
  return shape.min <= Math.min(shape.max, mostElements(shape, isInhabited));
}

/** The number of elements before the first that cannot exist. */
export function mostElements(shape: ArrayShape, isInhabited: IsInhabited): number {
  const dead = shape.prefix.findIndex((term) => !isInhabited(term));
  if (dead >= 0) return dead;
  return isInhabited(elementOf(shape, shape.prefix.length)) ? Infinity : shape.prefix.length;
}

/** The inhabited objects of a shape, as inhabitedObject() leaves them. */
export function inhabitedObjects(
  { objects }: Shape,
  isInhabited: IsInhabited,
  context: Context,
): KindShape[] {
  return objects.flatMap((object) => inhabitedReadings(object, isInhabited, context));
}

/** The inhabited objects of one shape, with declared properties only unless it was opened. */
function inhabitedReadings(object: ObjectShape, isInhabited: IsInhabited, context: Context): KindShape[] {
  const read = context.opened.has(object) ? object : closedShape(object);
  return meetConditions(read, isInhabited, context).flatMap(
    (each) => inhabitedObject(each, isInhabited, context) ?? [],
  );
}

/** The shape without names that cannot occur, and with all names required that must occur; null: no object has the shape. */
function inhabitedObject(shape: KindShape, isInhabited: IsInhabited, context: Context): KindShape | null {
  const { dependent } = shape;
  const named = new Map(shape.named);
  for (const name of [
    ...shape.required,
    ...[...dependent].flatMap(([first, others]) => [first, ...others]),
  ]) {
    if (!named.has(name)) named.set(name, termOf(shape, name));
  }
  const required = closure(shape.required, dependent);
  if (required.size > shape.max) return null;
  const classes = shape.classes.filter(({ term }) => isInhabited(term));
  for (const [name, term] of named) {
    const together = closure([name], dependent);
    const possible = [...together].every((each) => isInhabited(named.get(each) ?? NONE));
    const extra = [...together].filter((each) => !required.has(each)).length;
    const fits = possible && required.size + extra <= shape.max;
    if (!fits) {
      if (required.has(name)) return null;
      if (term !== NONE) named.set(name, NONE);
    }
  }
  const known = [...named.values()].filter(isInhabited).length;
  if (known < shape.min) {
    const others = classes.reduce((sum, { names }) => {
      const left = subtract(names, wordsDfa(named.keys(), context.bounds), context.bounds);
      return sum + (countTexts(left)[0] ?? 0);
    }, 0);
    if (known + others < shape.min) return null;
  }
  return { ...shape, named, classes, required };
}

/** The names with all of their dependent names. */
function closure(names: Iterable<string>, dependent: ObjectShape['dependent']): Set<string> {
  const all = new Set(names);
  for (const name of all) for (const other of dependent.get(name) ?? []) all.add(other);
  return all;
}
