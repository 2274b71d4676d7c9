// From a rule to a program: names become numbers, regular parts become lexemes, and what no text can match is left out.

import {
  accepts,
  ANY_TEXT,
  checkTime,
  intersect,
  isEmpty,
  isOver,
  subtract,
  TooLarge,
  type Dfa,
  type Limits,
} from './dfa.ts';
import { countTexts, neverRunsOut, textsOf } from './dfa-language.ts';
import { dfaOf } from './determinize.ts';
import { characters, type Expression } from './expression.ts';
import { innerNames, lookUp, namesOf, regularOf, runs, type Names } from './fuse.ts';
import { ANY_JSON, MARKS } from './json-text.ts';
import { lexemeOf, type Lexeme } from './lexeme.ts';
import type { ArrayNode, ElementNode, ObjectNode, OtherNames, Program, ProgramNode } from './program.ts';
import { prune } from './prune.ts';
import type { ArrayRule, Element, ObjectRule, Rule, SetRule } from './rule.ts';
import type { SpellingKind } from './spelling.ts';

const MOST_NODES = 200_000;
/** States times classes up to which parts are joined into one automaton. */
const MOST_JOINED = 400_000;
/** Names that are few enough to be known one by one. */
const FEW_NAMES = 1000;

/** `available`: 1 for each byte that is a token by itself. Throws TooLarge, and bad_request for a grammar that makes no sense. */
export function compile(rule: Rule, available: Uint8Array, limits: Limits): Program {
  const lexemes: Lexeme[] = Object.values(MARKS).map((dfa) => lexemeOf(dfa, 'plain', available, limits));
  const marks = Object.fromEntries(Object.keys(MARKS).map((mark, i) => [mark, i])) as Program['marks'];
  const program: Program = { nodes: [], lexemes, start: 0, marks };
  const compiler = createCompiler(program, available, limits);
  program.start = compiler.lower(rule, namesOf({}));
  return prune(program);
}

function createCompiler(
  { nodes, lexemes }: Program,
  available: Uint8Array,
  limits: Limits,
): { lower(rule: Rule, names: Names): number } {
  const lexemeNumbers = new Map<string, number>();

  const add = (node: ProgramNode): number => {
    if (nodes.length >= MOST_NODES) throw new TooLarge(`over ${MOST_NODES} parts`);
    checkTime(limits);
    return nodes.push(node) - 1;
  };
  const addLexeme = (dfa: Dfa, kind: SpellingKind, longest?: number): number => {
    const lexeme = lexemeOf(dfa, kind, available, limits, longest);
    let number = lexemeNumbers.get(lexeme.key);
    if (number === undefined) lexemeNumbers.set(lexeme.key, (number = lexemes.push(lexeme) - 1));
    return number;
  };

  const lower = (rule: Rule, names: Names): number => {
    const known = names.nodes.get(rule);
    if (known !== undefined) return known;
    const node = add({ kind: 'sequence', nodes: [] });
    names.nodes.set(rule, node); // rules that come back to this one find it
    const isOne = rule.type === 'text' || rule.type === 'regular';
    nodes[node] = (isOne ? null : join([rule], 'sequence', names)) ?? build(rule, names);
    return node;
  };

  /** Regular rules as one lexeme, or null. */
  const join = (rules: Rule[], kind: 'sequence' | 'choice', names: Names): ProgramNode | null => {
    const parts: Expression[] = [];
    for (const rule of rules) {
      const regular = regularOf(rule, names);
      if (regular === null) return null;
      parts.push(regular.expression);
    }
    try {
      const dfa = dfaOf({ kind, parts }, { ...limits, cells: Math.min(limits.cells, MOST_JOINED) });
      return { kind: 'lexeme', lexeme: addLexeme(dfa, 'plain') };
    } catch (error) {
      if (error instanceof TooLarge && !isOver(limits)) return null;
      throw error;
    }
  };
  const joinAll = (rules: Rule[], kind: 'sequence' | 'choice', names: Names): number[] =>
    runs(rules, (rule) => regularOf(rule, names) !== null).flatMap((run) => {
      const joined = run.length > 1 ? join(run, kind, names) : null;
      return joined === null ? run.map((rule) => lower(rule, names)) : [add(joined)];
    });

  const build = (rule: Rule, names: Names): ProgramNode => {
    switch (rule.type) {
      case 'text':
        return { kind: 'lexeme', lexeme: addLexeme(dfaOf(characters(rule.text), limits), 'plain') };
      case 'regular':
        return { kind: 'lexeme', lexeme: addLexeme(rule.dfa, 'plain', rule.longest) };
      case 'string':
        return { kind: 'lexeme', lexeme: addLexeme(rule.dfa ?? ANY_TEXT, 'string', rule.longest) };
      case 'token':
        return { kind: 'token', id: rule.id };
      case 'sequence':
        return { kind: 'sequence', nodes: joinAll(rule.rules, 'sequence', names) };
      case 'choice': {
        const isRegular = (each: Rule): boolean => regularOf(each, names) !== null;
        const sorted = [...rule.rules.filter(isRegular), ...rule.rules.filter((each) => !isRegular(each))];
        return { kind: 'choice', nodes: joinAll(sorted, 'choice', names) };
      }
      case 'repeat':
        return { kind: 'repeat', node: lower(rule.rule, names), min: rule.min, max: rule.max };
      case 'reference': {
        const target = lookUp(rule.name, names);
        return { kind: 'sequence', nodes: [lower(target.rule, target.names)] };
      }
      case 'scope':
        return { kind: 'sequence', nodes: [lower(rule.start, innerNames(rule, names))] };
      case 'json':
        return { kind: 'sequence', nodes: [lower(ANY_JSON, names)] };
      case 'object':
        return buildObject(rule, names);
      case 'array':
        return buildArray(rule, names);
      case 'set':
        return buildSet(rule);
    }
  };

  const buildObject = (rule: ObjectRule, names: Names): ObjectNode => {
    const isAllowed = (name: string): boolean => rule.names === null || accepts(rule.names, name);
    const wordsDfa = dfaOf(
      { kind: 'choice', parts: rule.properties.map(({ name }) => characters(name)) },
      limits,
    );
    const known: ObjectNode['known'] = [];
    const addKnown = (name: string, value: number): void => {
      known.push({ name, lexeme: addLexeme(dfaOf(characters(name), limits), 'name'), value });
    };
    for (const { name, value } of rule.properties)
      if (value !== null && isAllowed(name)) addKnown(name, lower(value, names));

    const others: OtherNames[] = [];
    const addOthers = (dfa: Dfa, value: Rule | null): void => {
      if (value === null || isEmpty(dfa)) return;
      const node = lower(value, names);
      if ((countTexts(dfa)[0] ?? 0) <= FEW_NAMES) {
        for (const name of textsOf(dfa)) addKnown(name, node);
        return;
      }
      others.push({ lexeme: addLexeme(dfa, 'name'), value: node, scarce: neverRunsOut(dfa) ? null : dfa });
    };
    const allowed = rule.names ?? ANY_TEXT;
    let left = subtract(allowed, wordsDfa, limits);
    for (const { names: pattern, value } of rule.patterns) {
      addOthers(intersect(left, pattern, limits), value);
      left = subtract(left, pattern, limits);
    }
    addOthers(left, rule.rest);

    const numbers = new Map(known.map(({ name }, i) => [name, i]));
    const number = (name: string): number => numbers.get(name) ?? -1;
    return {
      kind: 'object',
      isSet: false,
      known,
      others,
      required: [...new Set(rule.required)].map(number),
      dependents: known.map(({ name }) =>
        Object.hasOwn(rule.dependentRequired, name) ? rule.dependentRequired[name]!.map(number) : [],
      ),
      min: rule.min,
      max: rule.max,
    };
  };

  const buildSet = ({ strings, literals, min, max }: SetRule): ObjectNode => {
    const value = add({ kind: 'sequence', nodes: [] });
    const known = literals.map((name) => ({
      name,
      lexeme: addLexeme(dfaOf(characters(name), limits), 'plain'),
      value,
    }));
    const others: OtherNames[] = [];
    if (strings !== null && (countTexts(strings)[0] ?? 0) <= FEW_NAMES) {
      for (const name of textsOf(strings))
        known.push({ name, lexeme: addLexeme(dfaOf(characters(name), limits), 'name'), value });
    } else if (strings !== null) {
      const scarce = neverRunsOut(strings) ? null : strings;
      others.push({ lexeme: addLexeme(strings, 'name'), value, scarce });
    }
    const dependents = known.map(() => []);
    return { kind: 'object', isSet: true, known, others, required: [], dependents, min, max };
  };

  const buildArray = (rule: ArrayRule, names: Names): ArrayNode => {
    const element = (each: Element | null): ElementNode | null => {
      if (each === null) return null;
      if ('type' in each) {
        const node = lower(each, names);
        return { matching: node, other: node };
      }
      const side = (one: Rule | null): number => (one === null ? -1 : lower(one, names));
      return { matching: side(each.matching), other: side(each.other) };
    };
    const stop = rule.prefix.indexOf(null);
    const prefix = (stop < 0 ? rule.prefix : rule.prefix.slice(0, stop)).map((each) => element(each)!);
    const rest = stop < 0 ? element(rule.rest) : null;
    return { kind: 'array', prefix, rest, min: rule.min, max: rule.max, contains: rule.contains ?? null };
  };

  return { lower };
}
