// Which parts of a rule are regular: such a part becomes one automaton, however it was written, and costs one table step a byte.

import { EngineError } from '../files/error.ts';
import { characters, type Expression } from './expression.ts';
import { ANY_JSON } from './json-text.ts';
import type { Rule } from './rule.ts';

/** A regular rule as an expression, and about how many places it has. */
export interface Regular {
  expression: Expression;
  size: number;
}

/** The names a rule can refer to. */
export interface Names {
  rules: ReadonlyMap<string, { rule: Rule; names: Names }>;
  /** What is known of rules read in the light of these names. */
  regular: Map<Rule, Regular | null>;
  nodes: Map<Rule, number>;
  inner: Map<Rule, Names>;
}

/** Places up to which parts are joined. */
const MOST_PLACES = 20_000;
/** Rules inside one another that are looked into. */
const DEEPEST = 300;

export function namesOf(
  rules: Record<string, Rule>,
  outer: ReadonlyMap<string, { rule: Rule; names: Names }> = new Map(),
): Names {
  const own = new Map(outer);
  const names: Names = { rules: own, regular: new Map(), nodes: new Map(), inner: new Map() };
  for (const [name, rule] of Object.entries(rules)) own.set(name, { rule, names });
  return names;
}

export function innerNames(rule: Extract<Rule, { type: 'scope' }>, names: Names): Names {
  let inner = names.inner.get(rule);
  if (!inner) names.inner.set(rule, (inner = namesOf(rule.rules, names.rules)));
  return inner;
}

export function lookUp(name: string, names: Names): { rule: Rule; names: Names } {
  const found = names.rules.get(name);
  if (found) return found;
  throw new EngineError(
    'bad_request',
    `the grammar refers to the rule "${name}" and has none of that name: add it`,
  );
}

/** null: it is not regular, or too large or too deep to be joined. */
export function regularOf(rule: Rule, names: Names, depth = 0): Regular | null {
  const known = names.regular.get(rule);
  if (known !== undefined) return known;
  if (depth > DEEPEST) return null;
  names.regular.set(rule, null); // where it refers to itself it is not regular
  const found = read(rule, names, depth + 1);
  const fits = found !== null && found.size <= MOST_PLACES ? found : null;
  names.regular.set(rule, fits);
  return fits;
}

function read(rule: Rule, names: Names, depth: number): Regular | null {
  switch (rule.type) {
    case 'text':
      return { expression: characters(rule.text), size: rule.text.length };
    case 'regular':
      if (rule.longest !== undefined) return null;
      return { expression: { kind: 'dfa', dfa: rule.dfa }, size: rule.dfa.accept.length };
    case 'sequence':
    case 'choice': {
      const parts = regulars(rule.rules, names, depth);
      if (parts === null) return null;
      const expressions = parts.map(({ expression }) => expression);
      return {
        expression: { kind: rule.type, parts: expressions },
        size: parts.reduce((sum, { size }) => sum + size, 1),
      };
    }
    case 'repeat': {
      const part = regularOf(rule.rule, names, depth);
      if (part === null) return null;
      const { min, max } = rule;
      return {
        expression: { kind: 'repeat', part: part.expression, min, max },
        size: (part.size + 1) * Math.max(min, max === Infinity ? 1 : max, 1),
      };
    }
    case 'reference': {
      const target = lookUp(rule.name, names);
      return regularOf(target.rule, target.names, depth);
    }
    case 'scope':
      return regularOf(rule.start, innerNames(rule, names), depth);
    case 'json':
      return regularOf(ANY_JSON, names, depth);
    default:
      return null;
  }
}

function regulars(rules: Rule[], names: Names, depth: number): Regular[] | null {
  const found: Regular[] = [];
  for (const rule of rules) {
    const regular = regularOf(rule, names, depth);
    if (regular === null) return null;
    found.push(regular);
  }
  return found;
}

/** Neighbours for which `joins` holds, together. */
export function runs<T>(list: readonly T[], joins: (item: T) => boolean): T[][] {
  const found: T[][] = [];
  let open = false;
  for (const item of list) {
    const joined = joins(item);
    if (joined && open) found.at(-1)!.push(item);
    else found.push([item]);
    open = joined;
  }
  return found;
}
