// How many values a term has, between two bounds: whether so many different elements exist as an array of distinct ones must have.

import { countTexts } from '../automata/dfa-language.ts';
import { isEmpty } from '../automata/dfa.ts';
import { elementOf } from './array-shape.ts';
import type { Context } from './context.ts';
import { decimalOf, isMultiple } from './decimal.ts';
import { closedShape } from './declared.ts';
import { differingElements, needsAutomaton } from './element-automaton.ts';
import type { NumberPiece } from './number-set.ts';
import type { ArrayShape, IsInhabited, ObjectShape, Shape, Term } from './term.ts';

export interface ValueCount {
  /** There are at least so many. */
  readonly least: number;
  /** There are at most so many. */
  readonly most: number;
}

const NO_VALUES: ValueCount = { least: 0, most: 0 };
const ONE_VALUE: ValueCount = { least: 1, most: 1 };
/** Most terms inside each other that are looked into. */
const MOST_DEPTH = 4;
/** Most lengths of arrays that are added up. */
const MOST_LENGTHS = 12;
/** Most multiples that are looked at one by one. */
const MOST_MULTIPLES = 1000;

/** The values of a term, with those whose parts are known to be inhabited. */
export function valueCount(term: Term, isInhabited: IsInhabited, context: Context): ValueCount {
  const found = new Map<string, ValueCount>();
  const countAt = (part: Term, depth: number): ValueCount => {
    if (!isInhabited(part)) return NO_VALUES;
    if (depth > MOST_DEPTH) return { least: 1, most: Infinity };
    const key = `${part.id} ${depth}`;
    let counted = found.get(key);
    if (counted === undefined) {
      counted = countIn(context.shapeOf(part), (inner) => countAt(inner, depth + 1), context);
      found.set(key, counted);
    }
    return counted;
  };
  return countAt(term, 0);
}

/** The values of an inhabited shape. `count`: those of a part. */
function countIn(shape: Shape, count: Count, context: Context): ValueCount {
  const found = sum([
    ...shape.words.map(() => ONE_VALUE),
    ...shape.numbers.map(numberCount),
    stringCount(shape),
    eitherOf(shape.arrays.map((array) => arrayCount(array, count, context))),
    eitherOf(shape.objects.map((object) => objectCount(closedShape(object), count, context))),
  ]);
  return { least: Math.max(found.least, 1), most: found.most };
}

type Count = (term: Term) => ValueCount;

/** Disjoint sets together. */
function sum(counts: readonly ValueCount[]): ValueCount {
  return counts.reduce((a, b) => ({ least: a.least + b.least, most: a.most + b.most }), NO_VALUES);
}

/** Sets that may overlap. */
function eitherOf(counts: readonly ValueCount[]): ValueCount {
  return { least: Math.max(0, ...counts.map(({ least }) => least)), most: sum(counts).most };
}

function product(counts: readonly ValueCount[]): ValueCount {
  const times = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b);
  return counts.reduce(
    (a, b) => ({ least: times(a.least, b.least), most: times(a.most, b.most) }),
    ONE_VALUE,
  );
}

function numberCount({ min, max, step, not }: NumberPiece): ValueCount {
  if (min === max) return ONE_VALUE;
  const width = max - min;
  if (step === null) {
    // Bounds that are nearly equal have few spellings between them.
    const isWide = not.length === 0 && width > 1e-6 * Math.max(Math.abs(min), Math.abs(max), 1e-6);
    return { least: isWide || width === Infinity ? Infinity : 1, most: Infinity };
  }
  const each = Number(`${step.digits}e${step.exponent}`);
  if (!(width / each < MOST_MULTIPLES))
    return { least: width === Infinity ? Infinity : MOST_MULTIPLES, most: Infinity };
  let count = 0;
  for (let i = Math.ceil(min / each); i <= Math.floor(max / each); i++) {
    const exact = decimalOf(i * each);
    if (!not.some((divisor) => isMultiple(exact, divisor))) count++;
  }
  // A quotient of doubles may be off by one.
  return { least: Math.max(count - 2 * Number(each !== 1), 0), most: count + 2 * Number(each !== 1) };
}

function stringCount({ strings, longest }: Shape): ValueCount {
  if (isEmpty(strings)) return NO_VALUES;
  const count = countTexts(strings)[0]!;
  if (longest === Infinity || count < Infinity) return { least: count, most: count };
  // A cycle has at most as many characters as there are states, so texts of so many lengths exist.
  const states = strings.accept.length;
  return { least: Math.max(Math.floor((longest - states) / states), 1), most: Infinity };
}

function arrayCount(shape: ArrayShape, count: Count, context: Context): ValueCount {
  // The elements of arrays with further conditions are not terms that are known to be inhabited.
  if (needsAutomaton(shape)) {
    const differing = differingElements(shape, context);
    if (differing === null)
      return { least: Number(shape.min === 0 && shape.counts.length === 0), most: Infinity };
    return selectionCount(shape, differing.others.length + (countTexts(differing.strings)[0] ?? 0));
  }
  const lengths: ValueCount[] = [];
  let shorter = ONE_VALUE;
  for (let length = 0; length <= shape.max; length++) {
    if (length >= shape.min) lengths.push(shorter);
    const element = count(elementOf(shape, length));
    if (element.most === 0) break;
    shorter = product([shorter, element]);
    if (length < MOST_LENGTHS + shape.prefix.length) continue;
    return shape.max === Infinity ? { least: Infinity, most: Infinity } : { ...sum(lengths), most: Infinity };
  }
  return sum(lengths);
}

/** Arrays of distinct ones of `size` elements, in any order. */
function selectionCount({ min, max }: ArrayShape, size: number): ValueCount {
  let [selections, all] = [1, 0];
  for (let length = 0; length <= Math.min(max, size); length++) {
    if (length >= min) all += selections;
    selections *= size - length;
    if (length === MOST_LENGTHS) return { least: all, most: Infinity };
  }
  return { least: all, most: all };
}

function objectCount(shape: ObjectShape, count: Count, context: Context): ValueCount {
  const { named, classes, required, dependent, min, max, conditions } = shape;
  const names = new Set([...named.keys(), ...required]);
  const parts = [...names].map((name): ValueCount => {
    const value = named.has(name) ? count(named.get(name)!) : { least: 0, most: Infinity };
    return required.has(name) ? value : sum([value, ONE_VALUE]);
  });
  const others = classes.some(({ term }) => count(term).most > 0);
  const all = product(others ? [...parts, { least: 1, most: Infinity }] : parts);
  const isPlain = conditions.length === 0 && dependent.size === 0 && min <= required.size && max === Infinity;
  if (!isPlain || context.opened.has(shape)) return { least: 0, most: all.most };
  const hasOthers =
    others && classes.some((each) => count(each.term).least > 0 && countTexts(each.names)[0] === Infinity);
  return { least: hasOthers && all.least > 0 ? Infinity : all.least, most: all.most };
}
