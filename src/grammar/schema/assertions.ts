// The keywords of one subschema about the value itself, its elements and its properties: the shape that they allow, and the elements and
// properties that they evaluate. Applicators to the same value are in applicators.ts.

import { GrammarError } from '../bounds/grammar-error.ts';
import { boundLength } from '../automata/length-bound.ts';
import { ANY_TEXT, intersect, lengthBetween, NOTHING, type Dfa } from '../automata/dfa.ts';
import { regexDfa } from '../automata/regex.ts';
import { ANY_ARRAY } from './array-shape.ts';
import type { Context } from './context.ts';
import { formatDfa, UNENFORCED } from './format.ts';
import { readablePattern } from './known-pattern.ts';
import {
  INTEGERS,
  intersectNumbers,
  multiplesOf,
  numbersFrom,
  numbersTo,
  ALL_NUMBERS,
} from './number-set.ts';
import { MOST_REMAINDERS, remaindersOf } from './decimal-dfa.ts';
import { ANY_OBJECT, classesOf, intersectObjects, termOf, withNames } from './object-shape.ts';
import { ANY_SHAPE, intersectShapes, NO_SHAPE, shapeOfValues, stringsOf } from './shape.ts';
import type { KeywordReader } from './keyword-reader.ts';
import { NOTHING_EVALUATED, type Evaluated } from './evaluated.ts';
import { describe } from './schema-value.ts';
import {
  ANY,
  UNDECLARED,
  WORDS,
  type ArrayShape,
  type Json,
  type NameClass,
  type ObjectShape,
  type Shape,
  type Term,
} from './term.ts';

const TYPES: Record<string, Partial<Shape>> = {
  null: { words: [null] },
  boolean: { words: [true, false] },
  integer: { numbers: INTEGERS },
  number: { numbers: ALL_NUMBERS },
  string: { strings: ANY_SHAPE.strings },
  array: { arrays: ANY_SHAPE.arrays },
  object: { objects: ANY_SHAPE.objects },
};

/** The shape of a subschema without its applicators, and what it evaluates. */
export function assertions(reader: KeywordReader, context: Context): { shape: Shape; evaluated: Evaluated } {
  refuseForeignKeywords(reader);
  const array = arrayKeywords(reader);
  const object = objectKeywords(reader, context);
  let shape: Shape = {
    ...ANY_SHAPE,
    numbers: numberKeywords(reader),
    ...stringKeywords(reader, context),
    arrays: array.shape === null ? [] : [array.shape],
    objects: object.shape === null ? [] : [object.shape],
  };
  if (reader.has('type')) shape = intersectShapes(typed(reader), shape, context);
  if (reader.has('const')) {
    shape = intersectShapes(shape, valuesOf(reader, 'const', [reader.at.value['const']], context), context);
  }
  const values = reader.list('enum');
  if (values !== undefined)
    shape = intersectShapes(shape, valuesOf(reader, 'enum', values, context), context);
  return { shape, evaluated: { ...object.evaluated, items: array.items, contains: array.contains } };
}

function typed(reader: KeywordReader): Shape {
  const given = reader.at.value['type'];
  const types: unknown[] = Array.isArray(given) ? given : [given];
  return types.reduce<Shape>((shape, type) => {
    const allowed = typeof type === 'string' && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
    if (allowed === undefined) {
      return reader.refuse(
        'type',
        `there is no type ${describe(type)}`,
        `use one of ${Object.keys(TYPES).join(', ')}`,
      );
    }
    const numbers = shape.numbers === ALL_NUMBERS ? ALL_NUMBERS : (allowed.numbers ?? shape.numbers);
    return {
      ...shape,
      ...allowed,
      numbers,
      words: WORDS.filter((word) => shape.words.includes(word) || allowed.words?.includes(word)),
    };
  }, NO_SHAPE);
}

function valuesOf(reader: KeywordReader, keyword: string, values: unknown[], context: Context): Shape {
  const text = JSON.stringify(values);
  if (/\\u[dD][89a-fA-F]/.test(text)) {
    return reader.refuse(keyword, 'a string holds half a surrogate pair, which no text has', 'correct it');
  }
  return shapeOfValues(values as Json[], context);
}

function numberKeywords(reader: KeywordReader): Shape['numbers'] {
  let set = ALL_NUMBERS;
  for (const [keyword, numbers] of [
    ['minimum', (bound: number) => numbersFrom(bound, false)],
    ['exclusiveMinimum', (bound: number) => numbersFrom(bound, true)],
    ['maximum', (bound: number) => numbersTo(bound, false)],
    ['exclusiveMaximum', (bound: number) => numbersTo(bound, true)],
    ['multipleOf', (step: number) => stepOf(reader, step)],
  ] as const) {
    const held = reader.number(keyword);
    if (held !== undefined) set = intersectNumbers(set, numbers(held));
  }
  return set;
}

function stepOf(reader: KeywordReader, step: number): Shape['numbers'] {
  if (step <= 0) return reader.refuse('multipleOf', `${step} is not above 0`, 'correct it');
  const set = multiplesOf(step);
  const counted = remaindersOf(set[0]!.step!);
  if (counted <= MOST_REMAINDERS) return set;
  const why = `multiples of ${step} take ${counted} remainders, and at most ${MOST_REMAINDERS} are counted`;
  return reader.refuse('multipleOf', why, 'use a step of fewer digits');
}

function stringKeywords(reader: KeywordReader, { bounds }: Context): Pick<Shape, 'strings' | 'longest'> {
  const min = reader.count('minLength') ?? 0;
  const max = reader.count('maxLength') ?? Infinity;
  if (min > max) return { strings: NOTHING, longest: Infinity };
  const parts: Dfa[] = min > 0 ? [lengthBetween(min, Infinity, bounds)] : [];
  const pattern = reader.string('pattern');
  if (pattern !== undefined) parts.push(patternOf(reader, 'pattern', pattern, bounds));
  const format = reader.string('format');
  const why = format === undefined ? undefined : UNENFORCED.get(format);
  if (why !== undefined) {
    const remedy = 'leave it out, or say with a pattern what you need';
    return reader.refuse('format', `the format ${format} cannot be enforced, as ${why}`, remedy);
  }
  const formatted = format === undefined ? null : formatDfa(format, bounds);
  if (formatted !== null) parts.push(formatted);
  const all = parts.reduce((a, b) => (a === ANY_TEXT ? b : intersect(a, b, bounds)), ANY_TEXT);
  const { dfa, longest } = boundLength(all, max, bounds);
  return { strings: dfa, longest };
}

function patternOf(reader: KeywordReader, keyword: string, pattern: string, bounds: Context['bounds']): Dfa {
  try {
    return regexDfa(readablePattern(pattern), { whole: false, limits: bounds });
  } catch (error) {
    if (error instanceof GrammarError) return reader.refuse(keyword, error.message, 'or leave it out');
    throw error;
  }
}

const ARRAY_KEYWORDS = ['prefixItems', 'items', 'minItems', 'maxItems', 'uniqueItems', 'contains'];

function arrayKeywords(reader: KeywordReader): {
  shape: ArrayShape | null;
  items: number;
  contains: readonly Term[];
} {
  // A list under `items` is the prefixItems of earlier drafts, with `additionalItems` for the rest.
  const tuple = Array.isArray(reader.at.value['items']) ? 'items' : 'prefixItems';
  const restKeyword = tuple === 'items' ? 'additionalItems' : 'items';
  if (tuple === 'items' && reader.has('prefixItems')) {
    reader.refuse('items', 'items is a list beside prefixItems', 'make it one schema');
  }
  const prefix = (reader.list(tuple) ?? []).map((_, i) => reader.term(tuple, i));
  const hasRest = reader.has(restKeyword);
  const rest = hasRest ? reader.term(restKeyword) : ANY;
  const min = reader.count('minItems') ?? 0;
  const max = reader.count('maxItems') ?? Infinity;
  const unique = reader.at.value['uniqueItems'];
  if (unique !== undefined && typeof unique !== 'boolean') {
    reader.refuse('uniqueItems', `uniqueItems must be true or false, not ${describe(unique)}`, 'correct it');
  }
  const contains = reader.has('contains') ? [reader.term('contains')] : [];
  const [least, most] = [reader.count('minContains') ?? 1, reader.count('maxContains') ?? Infinity];
  const counts = contains
    .filter(() => least > 0 || most < Infinity)
    .map((term) => ({ term, from: 0, min: least, max: most, at: reader.at.node.path }));
  const possible = min <= max && counts.every((count) => count.min <= count.max);
  const shape = { prefix, rest, min, max, counts, unique: unique === true ? reader.at.node.path : null };
  const says = ARRAY_KEYWORDS.some(reader.has);
  return {
    shape: possible ? (says ? shape : ANY_ARRAY) : null,
    items: hasRest ? Infinity : prefix.length,
    contains,
  };
}

const OBJECT_KEYWORDS = [
  ...['properties', 'patternProperties', 'additionalProperties', 'propertyNames', 'required'],
  ...['dependentRequired', 'dependencies', 'minProperties', 'maxProperties'],
];

function objectKeywords(
  reader: KeywordReader,
  context: Context,
): { shape: ObjectShape | null; evaluated: Evaluated } {
  if (!OBJECT_KEYWORDS.some(reader.has)) return { shape: ANY_OBJECT, evaluated: NOTHING_EVALUATED };
  const properties = (reader.map('properties') ?? []).map(([name]) => ({
    name,
    term: reader.term('properties', name),
  }));
  const patterns = (reader.map('patternProperties') ?? []).map(([pattern]): NameClass => ({
    names: patternOf(reader, 'patternProperties', pattern, context.bounds),
    term: reader.term('patternProperties', pattern),
  }));
  const hasRest = reader.has('additionalProperties');
  const rest = hasRest ? reader.term('additionalProperties') : UNDECLARED;
  const byPattern = { ...ANY_OBJECT, classes: classesOf(patterns, UNDECLARED, context) };
  const named = new Map(
    properties.map(({ name, term }) => [name, context.terms.all([term, termOf(byPattern, name)])]),
  );
  const required = new Set(reader.names('required'));
  const [min, max] = [reader.count('minProperties') ?? 0, reader.count('maxProperties') ?? Infinity];
  const classes = classesOf(patterns, rest, context);
  const declares = context.keepsDeclared && (reader.has('properties') || reader.has('patternProperties'));
  let shape: ObjectShape = {
    ...ANY_OBJECT,
    named,
    classes,
    required,
    dependent: dependents(reader),
    min,
    max,
    declared: declares ? { names: properties.map(({ name }) => name), closes: context.isClosed } : null,
  };
  if (reader.has('propertyNames')) {
    const names = stringsOf(context.shapeOf(reader.term('propertyNames')), context);
    shape = withNames(shape, names, context);
  }
  const evaluatedNames = {
    words: properties.map(({ name }) => name),
    classes: patterns.map(({ names }) => names),
  };
  return {
    // The intersection with all objects adds the required names to `named`.
    shape: min > max ? null : intersectObjects(shape, ANY_OBJECT, context),
    evaluated: { ...NOTHING_EVALUATED, names: hasRest ? 'all' : evaluatedNames },
  };
}

function dependents(reader: KeywordReader): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const keyword of ['dependentRequired', 'dependencies']) {
    for (const [name, others] of reader.map(keyword) ?? []) {
      // `dependencies` of earlier drafts can also hold schemas, which are applicators.
      if (keyword === 'dependencies' && !Array.isArray(others)) continue;
      const names = reader.names(keyword, others) ?? [];
      if (names.length > 0) found.set(name, new Set([...(found.get(name) ?? []), ...names]));
    }
  }
  return found;
}

/** Refuses keywords of other drafts and dialects, which the author expects to hold and draft 2020-12 does not know. */
function refuseForeignKeywords(reader: KeywordReader): void {
  if (reader.at.value['nullable'] === true) {
    reader.refuse('nullable', 'JSON Schema has no nullable', 'add "null" to the type');
  }
  for (const keyword of ['$recursiveRef', 'divisibleBy', 'disallow', 'extends']) {
    if (reader.has(keyword)) {
      reader.refuse(
        keyword,
        `${keyword} is not a keyword of draft 2020-12`,
        'write what takes its place there',
      );
    }
  }
}
