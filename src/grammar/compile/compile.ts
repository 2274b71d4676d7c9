// Compiles a rule: names become indices of nodes, regular parts become lexemes, and parts that no text can match are left out.

import type { CompiledGrammar, GrammarNode, Punctuation } from '../rules/compiled-grammar.ts';
import { determinize } from '../automata/determinize.ts';
import { ANY_TEXT, TooLarge, type Limits } from '../automata/dfa.ts';
import type { Expression } from '../automata/expression.ts';
import { ANY_JSON, PUNCTUATION } from '../rules/json-syntax.ts';
import { LexemeTable } from '../lexemes/lexeme-table.ts';
import { arrayNode, distinctNode, objectNode, setNode, type NodeParts } from './object-nodes.ts';
import { prune } from './prune.ts';
import { regularExpressionOf } from './regular-rules.ts';
import type { Rule } from '../rules/rule.ts';
import { RuleScope, type ScopedRule } from './rule-scope.ts';

/** Most nodes. A compiled grammar is copied to the thread that serves, which waits for that. */
const MOST_NODES = 50_000;
/** Most states times classes of an automaton that joins several rules. */
const MOST_JOINED = 400_000;
/** Steps that a node counts as. */
const NODE_STEPS = 500;

/** `available`: 1 for each byte that is a token by itself. Throws TooLarge, and bad_request for a grammar that makes no sense. */
export function compile(rule: Rule, available: Uint8Array, limits: Limits): CompiledGrammar {
  const lexemes = new LexemeTable(available, limits);
  const punctuation = Object.fromEntries(
    Object.entries(PUNCTUATION).map(([name, dfa]) => [name, lexemes.add(dfa, 'plain')]),
  ) as Record<Punctuation, number>;
  const compiler = new RuleCompiler(lexemes, limits);
  const start = compiler.compile({ rule, scope: new RuleScope() });
  return prune({ nodes: compiler.nodes, lexemes: lexemes.lexemes, start, punctuation }, limits.work);
}

type Joining = 'sequence' | 'choice';

class RuleCompiler {
  readonly nodes: GrammarNode[] = [];
  readonly #lexemes: LexemeTable;
  readonly #limits: Limits;
  /** Rules whose nodes are still to be built. A queue keeps the call stack shallow, however deep rules nest. */
  readonly #pending: (ScopedRule & { node: number })[] = [];

  constructor(lexemes: LexemeTable, limits: Limits) {
    this.#lexemes = lexemes;
    this.#limits = limits;
  }

  /** Builds the node of a rule and all that it refers to. */
  compile(start: ScopedRule): number {
    const first = this.#nodeOf(start.rule, start.scope);
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      const { node, rule, scope } = next;
      const isSingle = rule.type === 'text' || rule.type === 'regular';
      this.nodes[node] =
        (isSingle ? null : this.#join([rule], 'sequence', scope)) ?? this.#build(rule, scope);
    }
    return first;
  }

  /** Index of the node of a rule, which is built later. */
  #nodeOf(rule: Rule, scope: RuleScope): number {
    const known = scope.nodes.get(rule);
    if (known !== undefined) return known;
    const node = this.#add({ kind: 'sequence', nodes: [] });
    scope.nodes.set(rule, node); // before it is built, for rules that refer back to this one
    this.#pending.push({ node, rule, scope });
    return node;
  }

  #add(node: GrammarNode): number {
    if (this.nodes.length >= MOST_NODES) throw new TooLarge(`over ${MOST_NODES} parts`);
    this.#limits.work.spend(NODE_STEPS);
    return this.nodes.push(node) - 1;
  }

  /** Regular rules as the node of one lexeme; null where they cannot be joined. */
  #join(rules: Rule[], kind: Joining, scope: RuleScope): GrammarNode | null {
    const parts: Expression[] = [];
    for (const rule of rules) {
      const regular = regularExpressionOf(rule, scope);
      if (regular === null) return null;
      parts.push(regular.expression);
    }
    const only = parts[0]!;
    if (parts.length === 1 && only.kind === 'dfa')
      return { kind: 'lexeme', lexeme: this.#lexemes.add(only.dfa, 'plain') };
    const limits = this.#limits;
    try {
      const dfa = determinize({ kind, parts }, { ...limits, cells: Math.min(limits.cells, MOST_JOINED) });
      return { kind: 'lexeme', lexeme: this.#lexemes.add(dfa, 'plain') };
    } catch (error) {
      if (error instanceof TooLarge && !limits.work.isOver) return null;
      throw error;
    }
  }

  /** Indices of the nodes of rules, where each run of regular rules becomes one lexeme if possible. */
  #joinRuns(rules: Rule[], kind: Joining, scope: RuleScope): number[] {
    return runsOf(rules, (rule) => regularExpressionOf(rule, scope) !== null).flatMap((run) => {
      const joined = run.length > 1 ? this.#join(run, kind, scope) : null;
      return joined === null ? run.map((rule) => this.#nodeOf(rule, scope)) : [this.#add(joined)];
    });
  }

  #build(rule: Rule, scope: RuleScope): GrammarNode {
    switch (rule.type) {
      case 'text':
        return { kind: 'lexeme', lexeme: this.#lexemes.addLiteral(rule.text, 'plain') };
      case 'regular':
        return { kind: 'lexeme', lexeme: this.#lexemes.add(rule.dfa, 'plain', rule.longest) };
      case 'string':
        return { kind: 'lexeme', lexeme: this.#lexemes.add(rule.dfa ?? ANY_TEXT, 'string', rule.longest) };
      case 'token':
        return { kind: 'token', id: rule.id };
      case 'sequence':
        return { kind: 'sequence', nodes: this.#joinRuns(rule.rules, 'sequence', scope) };
      case 'choice': {
        const isRegular = (each: Rule): boolean => regularExpressionOf(each, scope) !== null;
        const sorted = [...rule.rules.filter(isRegular), ...rule.rules.filter((each) => !isRegular(each))];
        return { kind: 'choice', nodes: this.#joinRuns(sorted, 'choice', scope) };
      }
      case 'repeat':
        return { kind: 'repeat', node: this.#nodeOf(rule.rule, scope), min: rule.min, max: rule.max };
      case 'reference': {
        const target = scope.resolve(rule.name);
        return { kind: 'sequence', nodes: [this.#nodeOf(target.rule, target.scope)] };
      }
      case 'scope':
        return { kind: 'sequence', nodes: [this.#nodeOf(rule.start, scope.inner(rule))] };
      case 'json':
        return { kind: 'sequence', nodes: [this.#nodeOf(ANY_JSON, scope)] };
      case 'object':
        return objectNode(rule, this.#partsIn(scope));
      case 'array':
        return arrayNode(rule, this.#partsIn(scope));
      case 'set':
        return setNode(rule, this.#partsIn(scope));
      case 'distinct':
        return distinctNode(rule, this.#partsIn(scope));
    }
  }

  #partsIn(scope: RuleScope): NodeParts {
    return {
      lexemes: this.#lexemes,
      limits: this.#limits,
      nodeOf: (rule) => this.#nodeOf(rule, scope),
      emptyNode: () => this.#add({ kind: 'sequence', nodes: [] }),
    };
  }
}

/** The list cut into runs of neighbours for which `joins` holds; each other item is a run by itself. */
function runsOf<T>(list: readonly T[], joins: (item: T) => boolean): T[][] {
  const found: T[][] = [];
  let isOpen = false;
  for (const item of list) {
    const joined = joins(item);
    if (joined && isOpen) found.at(-1)!.push(item);
    else found.push([item]);
    isOpen = joined;
  }
  return found;
}
