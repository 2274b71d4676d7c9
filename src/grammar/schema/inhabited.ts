// Which terms some finite value fulfils, found from the values up: what could only hold itself for ever is none. Shapes lose what
// cannot be: dead alternatives, and properties that can never occur.

import { countTexts } from '../dfa-language.ts';
import { isEmpty, subtract } from '../dfa.ts';
import { elementOf, type ArrayShape } from './array-shape.ts';
import type { Context } from './context.ts';
import { differingElements, kindsAt, needsWalk, placesOf, walkElements } from './element-automaton.ts';
import { numberTexts } from './number.ts';
import { NONE, type Term } from './term.ts';
import { termOf, type ObjectShape } from './object-shape.ts';
import type { Shape } from './shape.ts';
import { termsOfSome, withoutSome } from './some-property.ts';
import { wordsDfa } from '../word-dfa.ts';

export type IsAlive = (term: Term) => boolean;

/** The terms that `root` is made of, and those of them that are alive. */
export function aliveTerms(root: Term, context: Context): { terms: Set<Term>; isAlive: IsAlive } {
  const terms = new Set([root]);
  for (const term of terms) {
    for (const part of partsOf(context.shapeOf(term), context)) terms.add(part);
  }
  const alive = new Set<Term>();
  const isAlive: IsAlive = (term) => alive.has(term);
  // From the last found, which are mostly the innermost, to the first: few rounds are needed.
  let waiting = [...terms].toReversed();
  for (let before = -1; before !== alive.size;) {
    before = alive.size;
    waiting = waiting.filter((term) => {
      const lives = livesBy(context.shapeOf(term), isAlive, context);
      if (lives) alive.add(term);
      return !lives;
    });
  }
  return { terms, isAlive };
}

function partsOf(shape: Shape, context: Context): Term[] {
  return [
    ...shape.arrays.flatMap((array) => {
      if (differingElements(array, context) !== null) return [];
      if (!needsWalk(array)) return [...array.prefix, array.rest];
      const places = Array.from({ length: placesOf(array) + 1 }, (_, at) => kindsAt(array, at, context));
      return places.flatMap((kinds) => kinds.map(({ term }) => term));
    }),
    ...shape.objects.flatMap((object) => [
      ...object.named.values(),
      ...object.classes.map(({ term }) => term),
      ...termsOfSome(object, context),
    ]),
  ];
}

function livesBy(shape: Shape, isAlive: IsAlive, context: Context): boolean {
  return (
    shape.null ||
    shape.true ||
    shape.false ||
    !isEmpty(shape.strings) ||
    numberTexts(shape.numbers, context.bounds).length > 0 ||
    shape.arrays.some((array) => arrayLives(array, isAlive, context)) ||
    livingObjects(shape, isAlive, context).length > 0
  );
}

export function arrayLives(shape: ArrayShape, isAlive: IsAlive, context: Context): boolean {
  const differing = differingElements(shape, context);
  if (differing !== null) {
    const size = differing.others.length + (countTexts(differing.strings)[0] ?? 0);
    return shape.min <= Math.min(shape.max, size);
  }
  if (needsWalk(shape)) return walkElements(shape, isAlive, context).states.length > 0;
  return shape.min <= Math.min(shape.max, lengthOf(shape, isAlive));
}

/** The number of elements before the first that cannot be. */
export function lengthOf(shape: ArrayShape, isAlive: IsAlive): number {
  const dead = shape.prefix.findIndex((term) => !isAlive(term));
  if (dead >= 0) return dead;
  return isAlive(elementOf(shape, shape.prefix.length)) ? Infinity : shape.prefix.length;
}

/** What is left of the objects, each without names that cannot occur and with those required that must. */
export function livingObjects({ objects }: Shape, isAlive: IsAlive, context: Context): ObjectShape[] {
  return objects
    .flatMap((object) => withoutSome(object, isAlive, context))
    .flatMap((object) => livingObject(object, isAlive, context) ?? []);
}

/** The object without names that cannot occur, and with those required that must; null: no object is so. */
function livingObject(shape: ObjectShape, isAlive: IsAlive, context: Context): ObjectShape | null {
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
  const classes = shape.classes.filter(({ term }) => isAlive(term));
  for (const [name, term] of named) {
    const together = closure([name], dependent);
    const possible = [...together].every((each) => isAlive(named.get(each) ?? NONE));
    const extra = [...together].filter((each) => !required.has(each)).length;
    const fits = possible && required.size + extra <= shape.max;
    if (!fits) {
      if (required.has(name)) return null;
      if (term !== NONE) named.set(name, NONE);
    }
  }
  const known = [...named.values()].filter(isAlive).length;
  if (known < shape.min) {
    const others = classes.reduce((sum, { names }) => {
      const left = subtract(names, wordsDfa(named.keys(), context.bounds), context.bounds);
      return sum + (countTexts(left)[0] ?? 0);
    }, 0);
    if (known + others < shape.min) return null;
  }
  return { ...shape, named, classes, required };
}

/** The names with all that must come with them. */
function closure(names: Iterable<string>, dependent: ObjectShape['dependent']): Set<string> {
  const all = new Set(names);
  for (const name of all) for (const other of dependent.get(name) ?? []) all.add(other);
  return all;
}
