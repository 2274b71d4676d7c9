// Finds the regular parts of a rule. Such a part becomes one lexeme, however it was written, and then costs one table lookup per byte
// instead of a stack operation.

import { characters } from '../automata/expression.ts';
import { ANY_JSON } from '../rules/json-syntax.ts';
import type { Rule } from '../rules/rule.ts';
import type { RegularExpression, RuleScope } from './rule-scope.ts';

/** Most NFA states of a part that is joined. */
const MOST_STATES = 20_000;
/** Most rules inside each other that are looked into. */
const MOST_DEPTH = 300;

/** The expression of a regular rule; null: the rule is not regular, or is too large or too deep to be joined. */
export function regularExpressionOf(rule: Rule, scope: RuleScope, depth = 0): RegularExpression | null {
  const known = scope.regular.get(rule);
  if (known !== undefined) return known;
  if (depth > MOST_DEPTH) return null;
  scope.regular.set(rule, null); // a rule that refers to itself is not regular
  const found = read(rule, scope, depth + 1);
  const fits = found !== null && found.size <= MOST_STATES ? found : null;
  scope.regular.set(rule, fits);
  return fits;
}

function read(rule: Rule, scope: RuleScope, depth: number): RegularExpression | null {
  switch (rule.type) {
    case 'text':
      return { expression: characters(rule.text), size: rule.text.length };
    case 'regular':
      if (rule.longest !== undefined) return null;
      return { expression: { kind: 'dfa', dfa: rule.dfa }, size: rule.dfa.accept.length };
    case 'sequence':
    case 'choice': {
      const parts = readAll(rule.rules, scope, depth);
      if (parts === null) return null;
      return {
        expression: { kind: rule.type, parts: parts.map(({ expression }) => expression) },
        size: parts.reduce((sum, { size }) => sum + size, 1),
      };
    }
    case 'repeat': {
      const part = regularExpressionOf(rule.rule, scope, depth);
      if (part === null) return null;
      const { min, max } = rule;
      return {
        expression: { kind: 'repeat', part: part.expression, min, max },
        size: (part.size + 1) * Math.max(min, max === Infinity ? 1 : max, 1),
      };
    }
    case 'reference': {
      const target = scope.resolve(rule.name);
      return regularExpressionOf(target.rule, target.scope, depth);
    }
    case 'scope':
      return regularExpressionOf(rule.start, scope.inner(rule), depth);
    case 'json':
      return regularExpressionOf(ANY_JSON, scope, depth);
    default:
      return null;
  }
}

function readAll(rules: Rule[], scope: RuleScope, depth: number): RegularExpression[] | null {
  const found: RegularExpression[] = [];
  for (const rule of rules) {
    const regular = regularExpressionOf(rule, scope, depth);
    if (regular === null) return null;
    found.push(regular);
  }
  return found;
}
