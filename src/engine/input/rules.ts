// Validation rules for values that a program passes to the library. They are checked before anything runs, because TypeScript's
// types do not exist at run time and an error would otherwise appear far from its cause. A set of options is a table from names to
// rules; unknown names are refused.

import { badRequest, type EngineError } from '../../files/error.ts';
import { LIMITS } from '../../options/limits.ts';
import { nearestName } from '../../options/nearest-name.ts';
import { type OtherNames, plainName, type Settings } from '../../options/setting.ts';
import { jsonType, type Shape } from '../../options/shape.ts';

/** Throws bad_request if a value is invalid; `name` is its name in the message. */
export type Rule = (value: unknown, name: string) => void;

export type Rules = Readonly<Record<string, Rule>>;

export const text: Rule = (value, name) => {
  if (typeof value !== 'string') refuse(value, name, 'a text');
};

export const filledText: Rule = (value, name) => {
  if (typeof value !== 'string' || value === '') refuse(value, name, 'a text that is not empty');
};

export const flag: Rule = (value, name) => {
  if (typeof value !== 'boolean') refuse(value, name, 'true or false');
};

/** Accepts everything; another check decides. */
export const anything: Rule = () => {};

export function oneOf(...choices: readonly string[]): Rule {
  const wanted = choices.length === 1 ? `"${choices[0]}"` : `one of ${choices.join(', ')}`;
  return (value, name) => {
    if (!choices.some((choice) => choice === value)) refuse(value, name, wanted);
  };
}

/** Rule for whole numbers from `low` to `high`, both included. Without `high`, Infinity is allowed and means "all". */
export function whole(low: number, high = Infinity): Rule {
  const wanted = `a whole number ${boundsText(low, high)}`;
  return (value, name) => {
    const fits = Number.isSafeInteger(value) || (value === Infinity && high === Infinity);
    if (!fits || (value as number) < low || (value as number) > high) refuse(value, name, wanted);
  };
}

/** Rule for a number of bytes. */
export const bytes: Rule = (value, name) => {
  if (!Number.isSafeInteger(value) || (value as number) < 1)
    refuse(value, name, 'a whole number of bytes, as 4e9');
};

/** `above`: the lower bound is exclusive. */
export function real(low: number, high: number, { above = false } = {}): Rule {
  const wanted = above ? `a number above ${low} and at most ${high}` : `a number ${boundsText(low, high)}`;
  return (value, name) => {
    const fits = typeof value === 'number' && value >= low && value <= high && !(above && value === low);
    if (!fits) refuse(value, name, wanted);
  };
}

export function listOf(rule: Rule, { least = 0, most = Infinity } = {}): Rule {
  return (value, name) => {
    if (!Array.isArray(value)) return refuse(value, name, 'a list');
    if (value.length < least || value.length > most) {
      const wanted = value.length < least ? `at least ${least}` : `at most ${most}`;
      throw bad(
        name,
        `has ${value.length === 1 ? '1 entry' : `${value.length} entries`}, it must have ${wanted}`,
      );
    }
    value.forEach((entry: unknown, at) => rule(entry, `${name}.${at}`));
  };
}

/** Rule for an object with arbitrary names. */
export function recordOf(rule: Rule, { most = Infinity } = {}): Rule {
  return (value, name) => {
    if (!isObject(value)) return refuse(value, name, 'an object');
    const entries = Object.entries(value);
    if (entries.length > most) throw bad(name, `has ${entries.length} entries, it must have at most ${most}`);
    for (const [key, entry] of entries) rule(entry, `${name}.${key}`);
  };
}

/**
 * Rule for an object of known members; those left out, or undefined, pass unless they are `required`. `open`: unknown members pass
 * too.
 */
export function objectOf(rules: Rules, { required = [], open = false }: Members = {}): Rule {
  return (value, name) => {
    if (!isObject(value)) return refuse(value, name, 'an object');
    checkMembers(value, rules, (member) => `${name}.${member}`, { name, required, open });
  };
}

function noObject(given: unknown, what: string, required: readonly string[]): EngineError {
  const param = what.replace(/^an? /, '');
  if (param !== what || required.length === 0) return bad(param, `is ${shown(given)}, it must be an object`);
  const members = required.map((name) => `${name}: …`).join(', ');
  return badRequest(
    `${what} takes an object such as { ${members} }, and was given ${shown(given)}`,
    required[0],
  );
}

interface Members {
  required?: readonly string[];
  open?: boolean | undefined;
}

/** Checks a set of options against its table. `what`: the name of the set in messages; `otherNames`: names elsewhere of its options. */
export function checkOptions(
  given: unknown,
  rules: Rules,
  what: string,
  required: readonly string[],
  otherNames: OtherNames = new Map(),
): void {
  if (!isObject(given)) throw noObject(given, what, required);
  checkMembers(given, rules, (member) => member, { name: what, required, otherNames });
}

function checkMembers(
  given: object,
  rules: Rules,
  nameOf: (member: string) => string,
  { name, required = [], open = false, otherNames }: Members & { name: string; otherNames?: OtherNames },
): void {
  for (const member of required) {
    if (Reflect.get(given, member) === undefined)
      throw bad(nameOf(member), `is missing: ${name} cannot do without it`);
  }
  for (const [member, value] of Object.entries(given)) {
    const rule = Object.hasOwn(rules, member) ? rules[member] : undefined;
    if (rule && value !== undefined) rule(value, nameOf(member));
    if (!rule && !open && value !== undefined) {
      const remedy = remedyOf(member, Object.keys(rules), otherNames);
      throw bad(nameOf(member), `is unknown to ${name}: ${remedy}`);
    }
  }
}

function remedyOf(member: string, names: readonly string[], otherNames?: OtherNames): string {
  const written = plainName(member);
  const same = names.find((known) => plainName(known) === written);
  if (same !== undefined) return `it is written ${same}`;
  const near = otherNames?.get(written) ?? nearestName(member, names);
  const taken = `it takes ${names.join(', ')}`;
  return near === null ? taken : `did you mean ${near}? (${taken})`;
}

/** Rule for a part of an adapter's name, or its index. */
export const adapterRule: Rule = (value, name) =>
  typeof value === 'string' ? filledText(value, name) : whole(0, 99)(value, name);

/** Returns the rule for the values of a shape, such as the kind of a setting. */
export function ruleOf(kind: Shape): Rule {
  switch (kind.type) {
    case 'number':
      return real(kind.above ?? kind.min ?? -Infinity, kind.max ?? Infinity, {
        above: kind.above !== undefined,
      });
    case 'integer':
      return whole(kind.min ?? Number.MIN_SAFE_INTEGER, kind.max);
    case 'boolean':
      return flag;
    case 'text':
      return kind.isEmpty ? text : filledText;
    case 'choice':
      return oneOf(...kind.choices);
    case 'bytes':
      return bytes;
    case 'duration':
      return whole(1, LIMITS.timeout);
    case 'adapter':
      return adapterRule;
    case 'tokenId':
      return whole(0, 2 ** 32 - 1);
    case 'list':
      return listOf(ruleOf(kind.of), kind);
    case 'record':
      return recordOf(ruleOf(kind.of));
    case 'tokens':
      return recordOf(ruleOf(kind.of), kind);
    case 'object':
      return objectOf(rulesOfMembers(kind.members), { required: kind.required, open: kind.isOpen });
    case 'tagged':
      return taggedRule(kind);
    case 'either':
      return eitherRule(kind.of);
    default:
      return anything;
  }
}

const rulesOfMembers = (members: Readonly<Record<string, Shape>>): Rules =>
  Object.fromEntries(Object.entries(members).map(([name, shape]) => [name, ruleOf(shape)]));

/** Of shapes of several types that of the value's own type; for a value of another type the last one but null. */
function eitherRule(shapes: readonly Shape[]): Rule {
  const rules = shapes.map((shape) => ({ type: jsonType(shape), rule: ruleOf(shape) }));
  const { rule: otherwise } = rules.findLast(({ type }) => type !== 'null')!;
  return (value, name) => {
    const type = Array.isArray(value) ? 'list' : value === null ? 'null' : JSON_TYPES[typeof value];
    (rules.find((one) => one.type === type)?.rule ?? otherwise)(value, name);
  };
}

const JSON_TYPES: Partial<Record<string, ReturnType<typeof jsonType>>> = {
  string: 'text',
  boolean: 'flag',
  object: 'object',
  number: 'number',
};

function taggedRule({ by, forms }: Extract<Shape, { type: 'tagged' }>): Rule {
  const tag = objectOf({ [by]: oneOf(...Object.keys(forms)) }, { required: [by], open: true });
  const rules = new Map(
    Object.entries(forms).map(([tagged, { members, required }]) => [
      tagged,
      objectOf({ [by]: text, ...rulesOfMembers(members) }, { required }),
    ]),
  );
  return (value, name) => {
    tag(value, name);
    rules.get(String(Reflect.get(value as object, by)))!(value, name);
  };
}

/** Returns the rules of a table of settings. */
export function rulesOf<T extends Settings>(settings: T): Record<keyof T, Rule> {
  const rules = Object.entries(settings).map(([name, { kind }]) => [name, ruleOf(kind)]);
  return Object.fromEntries(rules) as Record<keyof T, Rule>;
}

/** Throws bad_request; `wanted` describes the valid values. */
export function refuse(value: unknown, name: string, wanted: string): never {
  throw bad(name, `is ${shown(value)}, it must be ${wanted}`);
}

function bad(param: string, problem: string): EngineError {
  return badRequest(`${param} ${problem}`, param);
}

/** Formats a value for a message, shortened. */
function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : objectText(value);
  const json = JSON.stringify(value) ?? String(value);
  return json.length > 60 ? `${json.slice(0, 57)}...` : json;
}

/** The class of an object, such as `a Blob`. */
function objectText(value: object): string {
  const name = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return `${/^[AEIOU]/i.test(name) ? 'an' : 'a'} ${name === 'Object' ? 'object' : name}`;
}

function boundsText(low: number, high: number): string {
  return high === Infinity ? `of at least ${low}` : `from ${low} to ${high}`;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
