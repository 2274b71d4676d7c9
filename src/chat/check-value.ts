// Checks a value against a JSON Schema, draft 2020-12, and says what does not fit in words that a model can act on. Schemas of tools come from programs and
// servers alike, and arguments are checked in pages, too: a validator that compiles code is refused by their content security policy.
// Annotations and formats restrict nothing, as in the specification; unevaluated* are not looked at. Neither is a pattern that this language cannot read, or
// that might take longer than `MOST_WAYS` on a text: expressions run by backtracking, and a server of tools could name one that never ends.

import { mostWays } from './pattern-steps.ts';

type Json = Record<string, unknown>;

/** Returns what does not fit first, with its place in the value; null: the value fits. */
export function checkValue(schema: unknown, value: unknown): string | null {
  return new Check(schema).problem(schema, value, '', 0);
}

const MOST_DEPTH = 200;
/** Most ways in which a pattern may be tried on a text, some milliseconds of work: `^[a-z]+$` on 1,000,000 characters, `^(a+)+$` on 15. */
const MOST_WAYS = 1_000_000;
/** Most subschemas that one check looks at: forms that refer to themselves may double the work at each depth. */
const MOST_CHECKS = 100_000;

class Check {
  readonly #root: unknown;
  #checks = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  problem(schema: unknown, value: unknown, at: string, depth: number): string | null {
    if (schema === true || typeof schema !== 'object' || schema === null)
      return schema === false ? said(at, 'is not allowed') : null;
    if (depth > MOST_DEPTH || ++this.#checks > MOST_CHECKS)
      return said(at, 'is nested too deeply to be checked');
    const rules = schema as Json;
    return (
      typeProblem(rules, value, at) ??
      this.#combined(rules, value, at, depth + 1) ??
      scalarProblem(rules, value, at) ??
      (Array.isArray(value) ? this.#list(rules, value, at, depth + 1) : null) ??
      (isObject(value) ? this.#object(rules, value, at, depth + 1) : null)
    );
  }

  #fits(schema: unknown, value: unknown, depth: number): boolean {
    return this.problem(schema, value, '', depth) === null;
  }

  #combined(rules: Json, value: unknown, at: string, depth: number): string | null {
    const { $ref, allOf, anyOf, oneOf, not, if: condition } = rules;
    if (typeof $ref === 'string') {
      const problem = this.problem(this.#referred($ref), value, at, depth);
      if (problem !== null) return problem;
    }
    for (const one of listOf(allOf)) {
      const problem = this.problem(one, value, at, depth);
      if (problem !== null) return problem;
    }
    if (Array.isArray(anyOf) && !anyOf.some((one) => this.#fits(one, value, depth)))
      return said(
        at,
        `fits none of ${anyOf.length} forms: ${this.problem(anyOf[0], value, at, depth) ?? ''}`,
      );
    if (Array.isArray(oneOf)) {
      const count = oneOf.filter((one) => this.#fits(one, value, depth)).length;
      if (count !== 1) return said(at, `fits ${count} of ${oneOf.length} forms, and must fit one`);
    }
    if (not !== undefined && this.#fits(not, value, depth)) return said(at, 'has a form that is excluded');
    if (condition === undefined) return null;
    const branch = this.#fits(condition, value, depth) ? rules['then'] : rules['else'];
    return branch === undefined ? null : this.problem(branch, value, at, depth);
  }

  #referred(reference: string): unknown {
    if (!reference.startsWith('#')) return true; // another document
    const names = decodeURIComponent(reference.slice(1)).split('/').slice(1);
    return names.reduce<unknown>((found, name) => {
      const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
      return typeof found === 'object' && found !== null ? (found as Json)[key] : undefined;
    }, this.#root);
  }

  #list(rules: Json, value: readonly unknown[], at: string, depth: number): string | null {
    const { minItems, maxItems, uniqueItems, contains, items } = rules;
    const prefix = listOf(rules['prefixItems']);
    if (typeof minItems === 'number' && value.length < minItems)
      return said(at, `must have at least ${minItems} items, and has ${value.length}`);
    if (typeof maxItems === 'number' && value.length > maxItems)
      return said(at, `must have at most ${maxItems} items, and has ${value.length}`);
    if (uniqueItems === true && new Set(value.map(canonical)).size < value.length)
      return said(at, 'must not repeat items');
    if (contains !== undefined) {
      const count = value.filter((one) => this.#fits(contains, one, depth)).length;
      const { minContains = 1, maxContains = Infinity } = rules;
      if (count < Number(minContains) || count > Number(maxContains))
        return said(at, `has ${count} items of the form that it must contain`);
    }
    for (const [index, one] of value.entries()) {
      const problem = this.problem(prefix[index] ?? items, one, `${at}[${index}]`, depth);
      if (problem !== null) return problem;
    }
    return null;
  }

  #object(rules: Json, value: Json, at: string, depth: number): string | null {
    const { properties = {}, patternProperties = {}, additionalProperties, propertyNames } = rules;
    const names = Object.keys(value);
    const missing = namesOf(rules['required']).find((name) => !Object.hasOwn(value, name));
    if (missing !== undefined) return said(placeOf(at, missing), 'is required');
    const { minProperties = 0, maxProperties = Infinity } = rules;
    if (names.length < Number(minProperties) || names.length > Number(maxProperties))
      return said(at, `has ${names.length} members, which is too few or too many`);
    for (const [name, others] of Object.entries((rules['dependentRequired'] ?? {}) as Json)) {
      const other = namesOf(others).find((one) => !Object.hasOwn(value, one));
      if (Object.hasOwn(value, name) && other !== undefined)
        return said(placeOf(at, other), `is required beside ${name}`);
    }
    for (const name of names) {
      if (propertyNames !== undefined && !this.#fits(propertyNames, name, depth))
        return said(placeOf(at, name), 'has a name that is not allowed');
      const patterns = Object.entries(patternProperties as Json).filter(([one]) => matches(one, name));
      const own = Object.hasOwn(properties as Json, name) ? [(properties as Json)[name]] : [];
      const schemas = [...own, ...patterns.map(([, schema]) => schema)];
      if (schemas.length === 0 && additionalProperties === false)
        return said(placeOf(at, name), `is unknown; known are ${Object.keys(properties as Json).join(', ')}`);
      for (const schema of schemas.length > 0 ? schemas : [additionalProperties]) {
        const problem = this.problem(schema, value[name], placeOf(at, name), depth);
        if (problem !== null) return problem;
      }
    }
    for (const [name, schema] of Object.entries((rules['dependentSchemas'] ?? {}) as Json)) {
      const problem = Object.hasOwn(value, name) ? this.problem(schema, value, at, depth) : null;
      if (problem !== null) return problem;
    }
    return null;
  }
}

function typeProblem({ type, enum: values, ...rules }: Json, value: unknown, at: string): string | null {
  const types = typeof type === 'string' ? [type] : namesOf(type);
  if (types.length > 0 && !types.some((one) => isOfType(value, one)))
    return said(at, `must be ${types.join(' or ')}, and is ${typeName(value)}`);
  const form = canonical(value);
  if (Array.isArray(values) && !values.some((one) => canonical(one) === form))
    return said(at, `must be one of ${values.map((one) => JSON.stringify(one)).join(', ')}`);
  if ('const' in rules && canonical(rules['const']) !== form)
    return said(at, `must be ${JSON.stringify(rules['const'])}`);
  return null;
}

function scalarProblem(rules: Json, value: unknown, at: string): string | null {
  if (typeof value === 'number') {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = rules;
    if (typeof minimum === 'number' && value < minimum) return said(at, `must be at least ${minimum}`);
    if (typeof maximum === 'number' && value > maximum) return said(at, `must be at most ${maximum}`);
    if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
      return said(at, `must be above ${exclusiveMinimum}`);
    if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
      return said(at, `must be below ${exclusiveMaximum}`);
    if (typeof multipleOf === 'number' && !isMultiple(value, multipleOf))
      return said(at, `must be a multiple of ${multipleOf}`);
  }
  if (typeof value === 'string') {
    const { minLength, maxLength, pattern } = rules;
    const { length } = Array.from(value); // code points
    if (typeof minLength === 'number' && length < minLength)
      return said(at, `must have at least ${minLength} characters, and has ${length}`);
    if (typeof maxLength === 'number' && length > maxLength)
      return said(at, `must have at most ${maxLength} characters, and has ${length}`);
    if (typeof pattern === 'string' && !matches(pattern, value)) return said(at, `must match ${pattern}`);
  }
  return null;
}

const isMultiple = (value: number, of: number): boolean =>
  Math.abs(value / of - Math.round(value / of)) <= Math.abs(value / of) * Number.EPSILON;

const said = (at: string, what: string): string => `${at === '' ? 'the value' : at} ${what}`;

const placeOf = (at: string, name: string): string => (at === '' ? name : `${at}.${name}`);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const namesOf = (value: unknown): string[] => listOf(value).filter((one) => typeof one === 'string');

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const isOfType = (value: unknown, type: string): boolean =>
  type === 'integer' ? Number.isInteger(value) : typeName(value) === type;

/** Patterns that are not regular expressions of this language, or may take too long on the text, restrict nothing. */
function matches(pattern: string, text: string): boolean {
  if (mostWays(pattern, text.length) > MOST_WAYS) return true;
  for (const flags of ['u', '']) {
    try {
      return new RegExp(pattern, flags).test(text);
    } catch {
      // Escapes that `u` refuses are usual in schemas.
    }
  }
  return true;
}

/** A text that equal values share, whatever the order of their members. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'undefined';
  const members = Object.keys(value).toSorted();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}
