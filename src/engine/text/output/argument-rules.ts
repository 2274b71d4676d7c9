// Arguments that are not one JSON object, as a grammar: each parameter in its own place, in any order, the required ones all.

import { EngineError } from '../../../files/error.ts';
import { boundLength } from '../../../grammar/length-bound.ts';
import { intersect, limits } from '../../../grammar/dfa.ts';
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
} from '../../../grammar/rule.ts';
import { textWithout } from '../../../grammar/marker-dfa.ts';
import type { Tool } from '../text-model.ts';
import { isObject } from './typed-value.ts';

/** JSON of the values that a schema allows. What it cannot enforce is a bad_request where `strict`, else it is left out; null: all of it. */
export type SchemaRule = (schema: unknown, path: string, strict: boolean) => Rule | null;

export interface PlacedTool {
  tool: Tool;
  /** Path of the tool's parameters, for messages. */
  path: string;
}

export interface Parameter {
  name: string;
  schema: Record<string, unknown>;
  path: string;
  required: boolean;
}

/** Keywords of a schema that are read here, or that do not restrict a value. */
const READ = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', '$defs', 'definitions'],
  ...['description', 'title', 'default', 'examples', 'example', 'deprecated', '$schema', '$id', '$comment'],
]);

/**
 * The parameters of an object schema. A strict schema with further keywords is refused: calls that are not written as JSON cannot be
 * held to them.
 */
export function parametersOf(schema: unknown, path: string, strict: boolean): Parameter[] {
  if (!isObject(schema)) return [];
  const extra = Object.keys(schema).find((word) => !READ.has(word));
  if (strict && extra !== undefined) {
    throw new EngineError(
      'bad_request',
      `${path}.${extra} cannot be enforced, as this model writes its arguments one by one: leave it out, or strict`,
      { param: `${path}.${extra}` },
    );
  }
  const { properties, required, $defs, definitions } = schema;
  if (!isObject(properties)) return [];
  const needed = Array.isArray(required) ? required : [];
  const shared = { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) };
  return Object.entries(properties).map(([name, value]) => ({
    name,
    schema: { ...(isObject(value) ? value : {}), ...shared },
    path: `${path}.properties.${name}`,
    required: needed.includes(name),
  }));
}

/** More parameters keep the schema's order: each that may come in any place doubles the grammar. */
const MOST_UNORDERED = 6;

/** Every order and selection of the parameters with all required ones; `ruleOf` writes one. */
export function inAnyOrder(
  parameters: readonly Parameter[],
  ruleOf: (parameter: Parameter) => Rule,
  separator = '',
): Rule {
  const all = 2 ** parameters.length - 1;
  const rules: Record<string, Rule> = {};
  const written = parameters.map((parameter, at): [string, Rule] => [`parameter ${at}`, ruleOf(parameter)]);
  const ordered = parameters.length > MOST_UNORDERED;
  /** `left`: bits of those that may still come. */
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

/** Where a rule is a JSON string and nothing else: the texts it stands for. */
export function stringTexts(rule: Rule): StringRule | null {
  if (rule.type === 'string') return rule;
  if (rule.type !== 'scope' || rule.start.type !== 'reference') return null;
  const target = rule.rules[rule.start.name];
  return target ? stringTexts(target) : null;
}

/** A string as it stands, without any of `ends`. */
export function bareString({ dfa, longest }: StringRule, ends: readonly string[]): Rule {
  const free = textWithout(ends);
  const { dfa: texts, ...rest } = boundLength(
    dfa ? intersect(dfa, free) : free,
    longest ?? Infinity,
    limits(),
  );
  return regular(texts, rest.longest);
}

/** Several of one kind. */
export function several(rule: Rule, between: Rule, single: boolean): Rule {
  return single ? rule : sequence(rule, repeat(sequence(between, rule), 0));
}
