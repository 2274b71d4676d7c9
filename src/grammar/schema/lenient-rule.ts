// The rule of a schema that is not strict: keywords that cannot be enforced are left out one by one, and the others are enforced.

import type { Limits } from '../automata/dfa.ts';
import type { Rule } from '../rules/rule.ts';
import { DECLARED, ruleOfSchema, WHOLE, type SchemaOptions } from './schema-rule.ts';
import { isObject, unescapePointer, type SchemaObject } from './schema-value.ts';
import { refusedPlace, type RefusedPlace } from './refusal.ts';

/** Limit on the keywords that are dropped one by one; beyond it only the simple keywords are kept. */
const MOST_LEFT_OUT = 16;

/** Keywords that may declare properties. Without one of them it is not known which properties are undeclared, and the whole language is read. */
const DECLARING = new Set([
  ...[
    'properties',
    'patternProperties',
    'additionalProperties',
    'unevaluatedProperties',
    '$ref',
    '$dynamicRef',
  ],
  ...['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'dependentSchemas', 'dependencies'],
]);

export interface LenientOptions extends SchemaOptions {
  limits: Limits;
  /** Called with each place that is not enforced, once the rule is made. A subschema without keyword is reduced to its type or less. */
  onLeftOut?: (place: RefusedPlace) => void;
}

const WHOLE_SCHEMA: RefusedPlace = { pointer: '', keyword: null };

/**
 * Returns null if no part of the schema can be enforced. Each attempt may take half of the work that is left, so that attempts with less of
 * the schema follow. Throws if the limit is exceeded.
 */
export function lenientRule(
  schema: unknown,
  { path, limits, reading: wanted = DECLARED, onLeftOut = () => {} }: LenientOptions,
): Rule | null {
  let held: unknown = schema;
  let reading = wanted;
  const lost: RefusedPlace[] = [];
  for (let leftOut = 0; ; leftOut++) {
    try {
      const rule = limits.work.half(() => ruleOfSchema(held, { path, limits, reading }));
      lost.forEach(onLeftOut);
      return rule;
    } catch (error) {
      if (limits.work.isOver) throw error;
      const place = refusedPlace(error);
      const less = place && leftOut < MOST_LEFT_OUT ? without(held, place) : null;
      const left = less ?? plain(held);
      if (JSON.stringify(left) === JSON.stringify(held)) {
        onLeftOut(WHOLE_SCHEMA);
        return null;
      }
      held = left;
      lost.push(less === null || place === null ? WHOLE_SCHEMA : place);
      const keyword = less === null ? null : (place?.keyword ?? null);
      if (keyword === null || DECLARING.has(keyword)) reading = WHOLE;
    }
  }
}

/** Returns the schema without one keyword, or with one subschema reduced to its type; null if the whole schema was refused. */
function without(schema: unknown, { pointer, keyword }: RefusedPlace): unknown {
  if (keyword === null && pointer === '') return null;
  const keys = pointer.split('/').slice(1).map(unescapePointer);
  const drop = (at: unknown, name: string): unknown =>
    isObject(at) ? Object.fromEntries(Object.entries(at).filter(([key]) => key !== name)) : at;
  if (keyword !== null) return changed(schema, keys, (at) => drop(at, keyword));
  const refused = keys.reduce<unknown>((at, key) => (at as SchemaObject | undefined)?.[key], schema);
  if (isObject(refused) || typeof refused === 'boolean') {
    const { type } = refused === true || refused === false ? {} : refused;
    return changed(schema, keys, () => (type === undefined ? true : { type }));
  }
  return changed(schema, keys.slice(0, -1), (at) => drop(at, keys.at(-1)!));
}

function changed(value: unknown, keys: readonly string[], change: (at: unknown) => unknown): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return change(value);
  if (Array.isArray(value))
    return value.map((each, i) => (String(i) === key ? changed(each, rest, change) : each));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, name === key ? changed(each, rest, change) : each]),
  );
}

/** Returns the schema with only the keywords for types, properties, elements and values, which are rarely refused. */
function plain(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const kept: SchemaObject = {};
  for (const [word, value] of Object.entries(schema)) {
    if (['type', 'required', 'enum', 'const', '$ref'].includes(word)) kept[word] = value;
    else if (['items', 'additionalProperties'].includes(word)) kept[word] = plain(value);
    else if (word === 'anyOf' && Array.isArray(value)) kept[word] = value.map(plain);
    else if (['properties', '$defs', 'definitions'].includes(word) && isObject(value))
      kept[word] = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
  }
  return kept;
}
