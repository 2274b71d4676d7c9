// The front end of JSON Schema, draft 2020-12. A keyword is enforced exactly, or the schema is refused with the keyword's place. Keywords
// that the draft does not know are annotations, as it defines, and so are unknown formats (see format.ts).
//
// schema → document.ts (index, references) → normalizer.ts (terms into shapes) → inhabited.ts (non-empty terms) → one rule per term.

import { ANY_TEXT, isEmpty, limits, TooLarge, type Limits } from '../automata/dfa.ts';
import { PUNCTUATION } from '../rules/json-syntax.ts';
import {
  anyJson,
  array,
  choice,
  object,
  reference,
  regular,
  scope,
  sequence,
  string,
  text,
  type ObjectConditions,
  type ObjectRule,
  type Rule,
} from '../rules/rule.ts';
import { elementOf } from './array-shape.ts';
import { inhabitedTerms, isArrayInhabited, mostElements, inhabitedObjects } from './inhabited.ts';
import type { Kind, Kinds, KindShape } from './conditions.ts';
import type { Context } from './context.ts';
import { contradictionIn } from './contradiction.ts';
import { namesInOrder } from './declared.ts';
import { SchemaDocument } from './document.ts';
import {
  areCompared,
  differingElements,
  elementKindsAt,
  needsAutomaton,
  distinctPlaces,
  elementAutomaton,
} from './element-automaton.ts';
import { Normalizer } from './normalizer.ts';
import { numberTexts } from './number.ts';
import { isAnyShape } from './shape.ts';
import { valueCount } from './value-count.ts';
import type { ArrayShape, IsInhabited, Term } from './term.ts';

/** Which of the texts of a schema's values are written. What a schema says explicitly holds in every reading. */
export interface SchemaReading {
  /** Properties come in the order in which they are declared; declared ones may be left out where they are not required, and others follow them. */
  isOrdered: boolean;
  /** Properties that the schema says nothing about are not written by an object that declares properties, unless no other object fulfils it. */
  isClosed: boolean;
  /** Whole numbers of a type that has no others are written in digits alone, without an exponent. */
  isPlain: boolean;
}

/** The reading that OpenAI, xgrammar and llama.cpp share. */
export const DECLARED: SchemaReading = { isOrdered: true, isClosed: true, isPlain: true };
/** The whole language of the schema. */
export const WHOLE: SchemaReading = { isOrdered: false, isClosed: false, isPlain: false };

export interface SchemaOptions {
  /** How the request names the schema, as in response_format.json_schema.schema. */
  path: string;
  limits?: Limits;
  /** Left out: DECLARED. */
  reading?: SchemaReading;
}

/**
 * The rule of the JSON texts of the values that a schema allows. It is self-contained and can be part of any other rule. Throws
 * bad_request with the place of what cannot be enforced, and a remedy.
 */
export function ruleOfSchema(
  schema: unknown,
  { path, limits: bounds = limits(), reading = DECLARED }: SchemaOptions,
): Rule {
  const document = new SchemaDocument(schema, path);
  try {
    const context = new Normalizer(document, bounds, reading);
    const root = context.enter(document.root, []);
    const { terms, isInhabited } = inhabitedTerms(root, context);
    if (!isInhabited(root)) {
      const place = contradictionIn(document.root, context);
      document.refuse(place, null, 'no value fulfils it', 'loosen what contradicts');
    }
    const inhabited = [...terms].filter(isInhabited);
    const rules = inhabited.map((term): [string, Rule] => [
      nameOf(term),
      ruleOf(term, isInhabited, context, reading),
    ]);
    return scope(Object.fromEntries(rules), reference(nameOf(root)));
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    return document.refuse(document.root, null, `it takes ${error.message}`, 'simplify it');
  }
}

const nameOf = ({ id }: Term): string => `value ${id}`;

function ruleOf(
  term: Term,
  isInhabited: IsInhabited,
  context: Context,
  { isOrdered, isPlain }: SchemaReading,
): Rule {
  const shape = context.shapeOf(term);
  if (isAnyShape(shape)) return anyJson;
  const rules: Rule[] = shape.words.map((word) => text(String(word)));
  for (const { dfa, longest } of numberTexts(shape.numbers, context.bounds, { isPlain }))
    rules.push(regular(dfa, longest));
  const { strings, longest } = shape;
  if (!isEmpty(strings)) rules.push(string(strings === ANY_TEXT ? undefined : strings, longest));
  for (const each of shape.arrays) {
    if (isArrayInhabited(each, isInhabited, context)) rules.push(arrayRule(each, isInhabited, context));
  }
  for (const each of inhabitedObjects(shape, isInhabited, context))
    rules.push(objectRule(each, isOrdered ? namesInOrder(each) : [], isInhabited));
  return rules.length === 1 ? rules[0]! : choice(...rules);
}

function arrayRule(shape: ArrayShape, isInhabited: IsInhabited, context: Context): Rule {
  const differing = differingElements(shape, context);
  if (differing !== null) {
    const strings = isEmpty(differing.strings) ? null : differing.strings;
    const literals = differing.others.map((value) => JSON.stringify(value));
    return { type: 'set', strings, literals, min: shape.min, max: shape.max };
  }
  if (areCompared(shape, context)) return distinctRule(shape, isInhabited, context);
  if (!needsAutomaton(shape)) {
    const length = Math.min(shape.max, mostElements(shape, isInhabited));
    return array({
      prefix: shape.prefix.slice(0, length).map((term) => reference(nameOf(term))),
      rest: length > shape.prefix.length ? reference(nameOf(shape.rest)) : null,
      min: shape.min,
      max: length,
    });
  }
  return shape.unique === null && shape.counts.length === 1
    ? countedRule(shape, isInhabited, context)
    : automatonRule(shape, isInhabited, context);
}

/** Most elements that an array of distinct ones of finitely many values must have; the search for what is left takes time. */
const MOST_DISTINCT = 100;

/** Distinct elements that are compared as they are written. There must be more values for each place than elements before it. */
function distinctRule(shape: ArrayShape, isInhabited: IsInhabited, context: Context): Rule {
  const { min } = shape;
  const length = Math.min(shape.max, mostElements(shape, isInhabited));
  for (let at = 1; at < Math.min(min, shape.prefix.length + 2); at++) {
    const { least } = valueCount(elementOf(shape, at), isInhabited, context);
    const needed = at < shape.prefix.length ? at + 1 : min;
    if (least < needed)
      context.cannot(
        shape.unique!,
        'uniqueItems',
        `${min} different elements are asked for, and not known to exist`,
      );
    if (least < Infinity && min > MOST_DISTINCT)
      context.cannot(
        shape.unique!,
        'uniqueItems',
        `more than ${MOST_DISTINCT} different elements are asked for`,
      );
  }
  return {
    type: 'distinct',
    prefix: shape.prefix.slice(0, length).map((term) => reference(nameOf(term))),
    rest: length > shape.prefix.length ? reference(nameOf(shape.rest)) : null,
    min,
    max: length,
  };
}

/** An array with a single count, which the pushdown automaton keeps. */
function countedRule(shape: ArrayShape, isInhabited: IsInhabited, context: Context): Rule {
  const places = distinctPlaces(shape);
  const elements = Array.from({ length: places + 1 }, (_, at) => {
    const kinds = elementKindsAt(shape, at, context).filter(({ term }) => isInhabited(term));
    const [matching, other] = [true, false].map((counted) =>
      kinds.find((kind) => kind.counted.length > 0 === counted),
    );
    if (matching === undefined && other === undefined) return null;
    return {
      matching: matching === undefined ? null : reference(nameOf(matching.term)),
      other: other === undefined ? null : reference(nameOf(other.term)),
    };
  });
  const { min, max } = shape.counts[0]!;
  return array({
    prefix: elements.slice(0, places),
    rest: elements[places]!,
    min: shape.min,
    max: shape.max,
    contains: { min, max },
  });
}

/** Rule for arrays, with an inner rule for each state of the element automaton: the elements that may follow, and their successor states. */
function automatonRule(shape: ArrayShape, isInhabited: IsInhabited, context: Context): Rule {
  const { states } = elementAutomaton(shape, isInhabited, context);
  const stateName = (state: number): string => `elements ${state}`;
  const rules: Record<string, Rule> = {};
  const after = (state: number): Rule => {
    const { accepts, transitions } = states[state]!;
    const rest: Rule[] = accepts ? [regular(PUNCTUATION.spaceCloseArray)] : [];
    if (transitions.length > 0) rest.push(sequence(regular(PUNCTUATION.comma), reference(stateName(state))));
    return choice(...rest);
  };
  states.forEach(({ transitions }, state) => {
    if (transitions.length === 0) return;
    const ways = transitions.map(({ term, to }) => sequence(reference(nameOf(term)), after(to)));
    rules[stateName(state)] = choice(...ways);
  });
  const first: Rule[] = states[0]!.accepts ? [regular(PUNCTUATION.closeArray)] : [];
  if (states[0]!.transitions.length > 0) first.push(reference(stateName(0)));
  return scope(rules, sequence(regular(PUNCTUATION.openArray), choice(...first)));
}

/** `first`: names that come in this order, before all others. */
function objectRule(shape: KindShape, first: readonly string[], isInhabited: IsInhabited): ObjectRule {
  const { kinds } = shape;
  const names = [...new Set([...first, ...shape.named.keys()])];
  const value = (term: Term): Rule | null => (isInhabited(term) ? reference(nameOf(term)) : null);
  const valueOf = (term: Term, list: readonly Kind[] | undefined): Rule | null =>
    list === undefined || !isInhabited(term)
      ? value(term)
      : choice(...list.map((kind) => reference(nameOf(kind.term))));
  const single = kinds === null && shape.classes.length === 1 && shape.classes[0]!.names === ANY_TEXT;
  const properties = names.map((name) => ({
    name,
    value: valueOf(shape.named.get(name)!, kinds?.named.get(name)),
  }));
  return object({
    ordered: first.length,
    properties,
    patterns: single
      ? []
      : shape.classes.map(({ names, term }, i) => ({ names, value: valueOf(term, kinds?.classes[i]) })),
    rest: single ? value(shape.classes[0]!.term) : null,
    required: [...shape.required],
    dependentRequired: Object.fromEntries([...shape.dependent].map(([name, others]) => [name, [...others]])),
    min: shape.min,
    max: shape.max,
    ...(kinds !== null && kinds.count > 0 && { conditions: conditionsOf(names, kinds) }),
  });
}

function conditionsOf(names: readonly string[], kinds: Kinds): ObjectConditions {
  const rulesOf = (list: readonly Kind[]): { rule: Rule; meets: number }[] =>
    list.map(({ term, meets }) => ({ rule: reference(nameOf(term)), meets }));
  return {
    count: kinds.count,
    properties: names.map((name) => rulesOf(kinds.named.get(name) ?? [])),
    patterns: kinds.classes.map(rulesOf),
    absent: names.map((name) => kinds.absent.get(name) ?? 0),
  };
}
