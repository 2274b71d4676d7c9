// JSON Schema draft 2020-12 as a grammar. Every keyword is enforced exactly, or the schema is refused with the place of the
// keyword; names that 2020-12 does not know are annotations, as it says, and so are formats it does not know (see format.ts).
//
// schema → document.ts (places, references) → normal-form.ts (shapes: what a value may be, type by type) → alive.ts (what can be
// at all) → rules, one a term.

import { ANY_TEXT, isEmpty, limits, TooLarge, type Limits } from '../dfa.ts';
import { PUNCTUATION } from '../json-syntax.ts';
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
  type ObjectRule,
  type Rule,
} from '../rule.ts';
import { aliveTerms, arrayLives, lengthOf, livingObjects, type IsAlive } from './inhabited.ts';
import type { ArrayShape } from './array-shape.ts';
import type { Context } from './context.ts';
import { contradictionIn } from './contradiction.ts';
import { readDocument } from './document.ts';
import { differingElements, kindsAt, needsWalk, placesOf, walkElements } from './element-automaton.ts';
import { createContext } from './normalizer.ts';
import { numberTexts } from './number.ts';
import type { ObjectShape } from './object-shape.ts';
import { isAnyShape } from './shape.ts';
import type { Term } from './term.ts';

export interface SchemaOptions {
  /** How the request names the schema, for messages. */
  path: string;
  limits?: Limits;
}

/**
 * The JSON texts of the values that the schema allows. The rule stands by itself and may be put anywhere in another grammar.
 * Throws bad_request: what cannot be enforced, where, and what to do.
 */
export function ruleOfSchema(schema: unknown, { path, limits: bounds = limits() }: SchemaOptions): Rule {
  const document = readDocument(schema, path);
  try {
    const context = createContext(document, bounds);
    const root = context.enter(document.root, []);
    const { terms, isAlive } = aliveTerms(root, context);
    if (!isAlive(root)) {
      const place = contradictionIn(document.root, context);
      document.refuse(place, null, 'no value fulfils it', 'loosen what contradicts');
    }
    const alive = [...terms].filter(isAlive);
    const rules = alive.map((term): [string, Rule] => [nameOf(term), ruleOf(term, isAlive, context)]);
    return scope(Object.fromEntries(rules), reference(nameOf(root)));
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    return document.refuse(document.root, null, `it takes ${error.message}`, 'simplify it');
  }
}

const nameOf = ({ id }: Term): string => `value ${id}`;

function ruleOf(term: Term, isAlive: IsAlive, context: Context): Rule {
  const shape = context.shapeOf(term);
  if (isAnyShape(shape)) return anyJson;
  const words = (['null', 'true', 'false'] as const).filter((word) => shape[word]);
  const rules: Rule[] = words.map(text);
  for (const { dfa, longest } of numberTexts(shape.numbers, context.bounds))
    rules.push(regular(dfa, longest));
  const { strings, longest } = shape;
  if (!isEmpty(strings)) rules.push(string(strings === ANY_TEXT ? undefined : strings, longest));
  for (const each of shape.arrays) {
    if (arrayLives(each, isAlive, context)) rules.push(arrayRule(each, isAlive, context));
  }
  for (const each of livingObjects(shape, isAlive, context)) rules.push(objectRule(each, isAlive));
  return rules.length === 1 ? rules[0]! : choice(...rules);
}

function arrayRule(shape: ArrayShape, isAlive: IsAlive, context: Context): Rule {
  const differing = differingElements(shape, context);
  if (differing !== null) {
    const strings = isEmpty(differing.strings) ? null : differing.strings;
    const literals = differing.others.map((value) => JSON.stringify(value));
    return { type: 'set', strings, literals, min: shape.min, max: shape.max };
  }
  if (!needsWalk(shape)) {
    const length = Math.min(shape.max, lengthOf(shape, isAlive));
    return array({
      prefix: shape.prefix.slice(0, length).map((term) => reference(nameOf(term))),
      rest: length > shape.prefix.length ? reference(nameOf(shape.rest)) : null,
      min: shape.min,
      max: length,
    });
  }
  return shape.unique === null && shape.counts.length === 1
    ? countedRule(shape, isAlive, context)
    : walkRule(shape, isAlive, context);
}

/** One count: the machine keeps it. */
function countedRule(shape: ArrayShape, isAlive: IsAlive, context: Context): Rule {
  const places = placesOf(shape);
  const elements = Array.from({ length: places + 1 }, (_, at) => {
    const kinds = kindsAt(shape, at, context).filter(({ term }) => isAlive(term));
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

/** A rule for each state of the walk: the elements that may follow, and what comes after each. */
function walkRule(shape: ArrayShape, isAlive: IsAlive, context: Context): Rule {
  const { states } = walkElements(shape, isAlive, context);
  const stateName = (state: number): string => `elements ${state}`;
  const rules: Record<string, Rule> = {};
  const after = (state: number): Rule => {
    const { end, steps } = states[state]!;
    const rest: Rule[] = end ? [regular(PUNCTUATION.spaceCloseArray)] : [];
    if (steps.length > 0) rest.push(sequence(regular(PUNCTUATION.comma), reference(stateName(state))));
    return choice(...rest);
  };
  states.forEach(({ steps }, state) => {
    if (steps.length === 0) return;
    const ways = steps.map(({ term, to }) => sequence(reference(nameOf(term)), after(to)));
    rules[stateName(state)] = choice(...ways);
  });
  const first: Rule[] = states[0]!.end ? [regular(PUNCTUATION.closeArray)] : [];
  if (states[0]!.steps.length > 0) first.push(reference(stateName(0)));
  return scope(rules, sequence(regular(PUNCTUATION.openArray), choice(...first)));
}

function objectRule(shape: ObjectShape, isAlive: IsAlive): ObjectRule {
  const value = (term: Term): Rule | null => (isAlive(term) ? reference(nameOf(term)) : null);
  const single = shape.classes.length === 1 && shape.classes[0]!.names === ANY_TEXT;
  return object({
    properties: [...shape.named].map(([name, term]) => ({ name, value: value(term) })),
    patterns: single ? [] : shape.classes.map(({ names, term }) => ({ names, value: value(term) })),
    rest: single ? value(shape.classes[0]!.term) : null,
    required: [...shape.required],
    dependentRequired: Object.fromEntries([...shape.dependent].map(([name, others]) => [name, [...others]])),
    min: shape.min,
    max: shape.max,
  });
}
