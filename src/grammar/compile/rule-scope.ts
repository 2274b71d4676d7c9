// The scopes of named rules: which rule each name refers to, and what was computed for the rules within each scope.

import type { Expression } from '../automata/expression.ts';
import { GrammarError } from '../bounds/grammar-error.ts';
import type { Rule, ScopeRule } from '../rules/rule.ts';

/** A rule and the scope in which its references are looked up. */
export interface ScopedRule {
  rule: Rule;
  scope: RuleScope;
}

/** A regular rule as an expression, and its approximate number of NFA states. */
export interface RegularExpression {
  expression: Expression;
  size: number;
}

export class RuleScope {
  /** The expressions of rules in this scope; null: not regular, or not to be joined. */
  readonly regular = new Map<Rule, RegularExpression | null>();
  /** Indices of the nodes of rules in this scope. */
  readonly nodes = new Map<Rule, number>();
  readonly #rules: Map<string, ScopedRule>;
  readonly #inner = new Map<ScopeRule, RuleScope>();

  constructor(rules: Record<string, Rule> = {}, outer: RuleScope | null = null) {
    this.#rules = new Map(outer === null ? [] : outer.#rules);
    for (const [name, rule] of Object.entries(rules)) this.#rules.set(name, { rule, scope: this });
  }

  /** The scope of a rule that defines names, one for each such rule. */
  inner(rule: ScopeRule): RuleScope {
    let inner = this.#inner.get(rule);
    if (!inner) this.#inner.set(rule, (inner = new RuleScope(rule.rules, this)));
    return inner;
  }

  /** Throws bad_request for a name that no scope defines. */
  resolve(name: string): ScopedRule {
    const found = this.#rules.get(name);
    if (found) return found;
    throw new GrammarError(
      'bad_request',
      `the grammar refers to the rule "${name}" and has none of that name: add it`,
    );
  }
}
