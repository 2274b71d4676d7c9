// Grammars of arguments that are written one by one and not as a JSON object: in any order, with all required parameters.

import { badRequest } from '../../../files/error.ts';
import { boundLength } from '../../../grammar/automata/length-bound.ts';
import { intersect, limits } from '../../../grammar/automata/dfa.ts';
import {
  choice,
  reference,
  regular,
  repeat,
  scope,
  sequence,
  text,
  type Rule,
  type StringRule,
} from '../../../grammar/rules/rule.ts';
import { textWithout } from '../../../grammar/automata/marker-dfa.ts';
import type { Tool } from '../calls/text-model.ts';
import { isObject } from './typed-value.ts';

/** Place of a schema among the parameters of a tool. */
export interface SchemaPlace {
  /** Name of the tool. */
  tool: string;
  /** Path in the request, for messages. */
  path: string;
  /** JSON pointer within the tool's parameters. */
  pointer: string;
}

export interface SchemaRules {
  /**
   * Rule for JSON values that a schema allows. Keywords that cannot be enforced throw bad_request if `strict`, and are left out otherwise;
   * null: the whole schema is left out.
   */
  ruleOf(schema: unknown, place: SchemaPlace, strict: boolean): Rule | null;
  /** Called with each keyword that is left out because of the syntax of the arguments; null: the whole schema is. */
  leaveOut(place: SchemaPlace, keyword: string | null): void;
  /** Whether objects have no undeclared properties where their schema says nothing about those. */
  isClosed: boolean;
}

export interface PlacedTool {
  tool: Tool;
  /** Path of the tool's parameters in the request, for messages. */
  path: string;
}

export interface Parameter {
  name: string;
  schema: Record<string, unknown>;
  place: SchemaPlace;
  required: boolean;
}

/** Place of all parameters of a tool. */
export function parametersPlace({ tool, path }: PlacedTool): SchemaPlace {
  return { tool: tool.function.name, path, pointer: '' };
}

/** Place of a subschema. */
export function within({ tool, path, pointer }: SchemaPlace, ...keys: string[]): SchemaPlace {
  const steps = keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  return { tool, path: [path, ...keys].join('.'), pointer: pointer + steps.join('') };
}

/** Schema keywords without effect on values. */
const ANNOTATIONS = new Set([
  ...['$defs', 'definitions', '$schema', '$id', '$comment'],
  ...['description', 'title', 'default', 'examples', 'example', 'deprecated'],
]);

/** Schema keywords that `parametersOf` reads, and keywords without effect on values. */
const READ = new Set([...ANNOTATIONS, 'type', 'properties', 'required', 'additionalProperties']);

/** Keywords by which an object may have properties that are not under `properties`. */
const DECLARING = [
  ...['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'then', 'else'],
  ...['patternProperties', 'dependentSchemas', 'dependencies'],
];

/** Whether a schema has keywords that restrict values. */
export function restrictsValues(schema: Record<string, unknown>): boolean {
  return Object.keys(schema).some((word) => !ANNOTATIONS.has(word));
}

/**
 * The keyword for which an object may have properties that are not under `properties`, so that a list of those must not restrict it; null:
 * it has no others. `isClosed`: see SchemaRules.
 */
export function openingKeyword(schema: Record<string, unknown>, isClosed: boolean): string | null {
  const { properties, required, additionalProperties: others = !isClosed } = schema;
  if (!isObject(properties)) return 'properties';
  const listed = Object.keys(properties);
  if (Array.isArray(required) && required.some((name) => !listed.includes(String(name)))) return 'required';
  return DECLARING.find((word) => word in schema) ?? (others === false ? null : 'additionalProperties');
}

/** Parameters of an object schema. Keywords that need the whole object throw bad_request if `strict`, and are left out otherwise. */
export function parametersOf(
  schema: unknown,
  place: SchemaPlace,
  strict: boolean,
  { leaveOut }: SchemaRules,
): Parameter[] {
  if (!isObject(schema)) return [];
  const { path } = place;
  for (const extra of Object.keys(schema).filter((word) => !READ.has(word))) {
    leaveOut(place, extra);
    if (!strict) continue;
    throw badRequest(
      `${path}.${extra} cannot be enforced, as this model writes its arguments one by one: leave it out, or strict`,
      `${path}.${extra}`,
    );
  }
  const { properties, required, $defs, definitions } = schema;
  if (!isObject(properties)) return [];
  const needed = Array.isArray(required) ? required : [];
  const shared = { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) };
  return Object.entries(properties).map(([name, value]) => ({
    name,
    schema: { ...(isObject(value) ? value : {}), ...shared },
    place: within(place, 'properties', name),
    required: needed.includes(name),
  }));
}

/** Maximum number of parameters in any order, since each doubles the grammar. More parameters follow the schema's order. */
const MOST_UNORDERED = 6;

/** Rule for every order and selection of the parameters that has all required ones; `ruleOf` gives the rule of one. */
export function inAnyOrder(
  parameters: readonly Parameter[],
  ruleOf: (parameter: Parameter) => Rule,
  separator = '',
): Rule {
  const all = 2 ** parameters.length - 1;
  const rules: Record<string, Rule> = {};
  const written = parameters.map((parameter, at): [string, Rule] => [`parameter ${at}`, ruleOf(parameter)]);
  const ordered = parameters.length > MOST_UNORDERED;
  /** `left`: bit set of the parameters that may follow. */
  const visit = (left: number, first: boolean): Rule => {
    const name = `left ${left} ${first}`;
    if (name in rules) return reference(name);
    rules[name] = text('');
    const ways: Rule[] = [];
    if (!parameters.some(({ required }, at) => required && left & (1 << at))) ways.push(text(''));
    for (let at = 0; at < parameters.length; at++) {
      if (!(left & (1 << at))) continue;
      const rest = ordered ? left & ~(2 ** (at + 1) - 1) : left & ~(1 << at);
      const parts = [reference(`parameter ${at}`), visit(rest, false)];
      ways.push(sequence(...(first || separator === '' ? parts : [text(separator), ...parts])));
      if (ordered && parameters[at]!.required) break;
    }
    rules[name] = choice(...ways);
    return reference(name);
  };
  const start = visit(all, true);
  return scope({ ...rules, ...Object.fromEntries(written) }, start);
}

/** The texts of JSON values: the rules of strings, and of all other values. */
export interface ValueTexts {
  strings: StringRule[];
  /** null: all values are strings. */
  others: Rule | null;
  /** Any JSON is allowed. */
  isAny?: boolean;
}

/** Separates strings from other values, so that strings can be written without JSON's quotes. */
export function splitStrings(rule: Rule): ValueTexts {
  if (rule.type === 'string') return { strings: [rule], others: null };
  if (rule.type === 'json') return { strings: [{ type: 'string' }], others: rule, isAny: true };
  if (rule.type === 'choice') {
    const parts = rule.rules.map(splitStrings);
    const others = parts.flatMap((part) => part.others ?? []);
    const strings = parts.flatMap((part) => part.strings);
    return { strings, others: others.length === 0 && strings.length > 0 ? null : choice(...others) };
  }
  const start = rule.type === 'scope' && rule.start.type === 'reference' ? rule.rules[rule.start.name] : null;
  if (rule.type !== 'scope' || !start) return { strings: [], others: rule };
  const { others, ...rest } = splitStrings(start);
  return { ...rest, others: others && scope(rule.rules, others) };
}

/** The string rule that `rule` consists of; null if it allows other JSON than strings. */
export function stringTexts(rule: Rule): StringRule | null {
  const { strings, others } = splitStrings(rule);
  return others === null && strings.length === 1 ? strings[0]! : null;
}

const PYTHON_WORDS: Record<string, string> = { true: 'True', false: 'False', null: 'None' };

/** Rule for the JSON values of `rule`, in which true, false and null may also be spelled as in Python: models are trained on both. */
export function withPythonWords(rule: Rule): Rule {
  const words = Object.entries(PYTHON_WORDS).flatMap(([word, spelled]) =>
    allowsWord(rule, word) ? [text(spelled)] : [],
  );
  return words.length === 0 ? rule : choice(rule, ...words);
}

function allowsWord(rule: Rule, word: string): boolean {
  if (rule.type === 'scope') {
    const { start } = rule;
    const target = start.type === 'reference' ? rule.rules[start.name] : start;
    return target !== undefined && allowsWord(target, word);
  }
  if (rule.type === 'choice') return rule.rules.some((one) => allowsWord(one, word));
  return rule.type === 'json' || (rule.type === 'text' && rule.text === word);
}

/** Rule for an unquoted string that contains none of `ends`. */
export function bareString({ dfa, longest }: StringRule, ends: readonly string[]): Rule {
  const free = textWithout(ends);
  const { dfa: texts, ...rest } = boundLength(
    dfa ? intersect(dfa, free) : free,
    longest ?? Infinity,
    limits(),
  );
  return regular(texts, rest.longest);
}

/** Rule for one or more of `rule` with `between` between them; exactly one if `single`. */
export function several(rule: Rule, between: Rule, single: boolean): Rule {
  return single ? rule : sequence(rule, repeat(sequence(between, rule), 0));
}
