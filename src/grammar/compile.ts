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
import type { Expression } from './expression.ts';
import { innerNames, lookUp, namesOf, regularOf, runs, type Names } from './fuse.ts';
import { ANY_JSON, MARKS } from './json-text.ts';
import { bytesOf, lexemeOf, literalLexeme, type Lexeme } from './lexeme.ts';
import type { ArrayNode, ElementNode, ObjectNode, OtherNames, Program, ProgramNode } from './program.ts';
import { prune } from './prune.ts';
import type { ArrayRule, Element, ObjectRule, Rule, SetRule } from './rule.ts';
import type { SpellingKind } from './spelling.ts';
import { wordsDfa } from './words.ts';

// A program is copied to the thread that serves, which has to wait for that.
const MOST_NODES = 50_000;
const MOST_LEXEMES = 8192;
/** States times classes up to which parts are joined into one automaton. */
const MOST_JOINED = 400_000;
/** Names that are few enough to be known one by one. */
const FEW_NAMES = 1000;
/** Names that an object knows: each is an alternative of its own wherever a name may begin. */
const MOST_NAMES = 4096;
/** Bytes of all lexemes together. */
const MOST_BYTES = 64 * 2 ** 20;

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
  const numbersOf = new Map<Dfa, Map<string, number>>();
  let bytes = 0;

  const add = (node: ProgramNode): number => {
    if (nodes.length >= MOST_NODES) throw new TooLarge(`over ${MOST_NODES} parts`);
    checkTime(limits);
    return nodes.push(node) - 1;
  };
  const addLexeme = (dfa: Dfa, kind: SpellingKind, longest?: number): number => {
    checkTime(limits);
    let made = numbersOf.get(dfa);
    if (made === undefined) numbersOf.set(dfa, (made = new Map()));
    const key = `${kind} ${longest ?? ''}`;
    let found = made.get(key);
    if (found === undefined) made.set(key, (found = number(lexemeOf(dfa, kind, available, limits, longest))));
    return found;
  };
  const number = (lexeme: Lexeme): number => {
    let found = lexemeNumbers.get(lexeme.key);
    if (found === undefined) {
      lexemeNumbers.set(lexeme.key, (found = lexemes.push(lexeme) - 1));
      bytes += bytesOf(lexeme);
      if (lexemes.length > MOST_LEXEMES) throw new TooLarge(`over ${MOST_LEXEMES} different pieces of text`);
      if (bytes > MOST_BYTES) throw new TooLarge(`automata of over ${MOST_BYTES / 2 ** 20} MiB`);
    }
    return found;
  };

  const addLiteral = (text: string, kind: 'plain' | 'name'): number =>
    number(literalLexeme(text, kind, available));

  const waiting: { node: number; rule: Rule; names: Names }[] = [];
  /** The node of a rule, which is built in its turn: however deep rules nest, nothing here does. */
  const lower = (rule: Rule, names: Names): number => {
    const known = names.nodes.get(rule);
    if (known !== undefined) return known;
    const node = add({ kind: 'sequence', nodes: [] });
    names.nodes.set(rule, node); // rules that come back to this one find it
    waiting.push({ node, rule, names });
    return node;
  };
  const lowerAll = (start: Rule, startNames: Names): number => {
    const first = lower(start, startNames);
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { node, rule, names } = next;
      const isOne = rule.type === 'text' || rule.type === 'regular';
      nodes[node] = (isOne ? null : join([rule], 'sequence', names)) ?? build(rule, names);
    }
    return first;
  };

  /** Regular rules as one lexeme, or null. */
  const join = (rules: Rule[], kind: 'sequence' | 'choice', names: Names): ProgramNode | null => {
    const parts: Expression[] = [];
    for (const rule of rules) {
      const regular = regularOf(rule, names);
      if (regular === null) return null;
      parts.push(regular.expression);
    }
    const only = parts[0]!;
    if (parts.length === 1 && only.kind === 'dfa')
      return { kind: 'lexeme', lexeme: addLexeme(only.dfa, 'plain') };
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
        return { kind: 'lexeme', lexeme: addLiteral(rule.text, 'plain') };
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
    if (rule.properties.length > MOST_NAMES) throw new TooLarge(`an object of over ${MOST_NAMES} names`);
    const words = wordsDfa(
      rule.properties.map(({ name }) => name),
      limits,
    );
    const known: ObjectNode['known'] = [];
    const addKnown = (name: string, value: number): void => {
      known.push({ name, lexeme: addLiteral(name, 'name'), value });
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
    let left = words.accept.length === 0 ? allowed : subtract(allowed, words, limits);
    for (const { names: pattern, value } of rule.patterns) {
      addOthers(intersect(left, pattern, limits), value);
      left = subtract(left, pattern, limits);
    }
    addOthers(left, rule.rest);

    const numbers = new Map(known.map(({ name }, i) => [name, i]));
    const numberOf = (name: string): number => numbers.get(name) ?? -1;
    return {
      kind: 'object',
      isSet: false,
      known,
      others,
      required: [...new Set(rule.required)].map(numberOf),
      dependents: known.map(({ name }) =>
        Object.hasOwn(rule.dependentRequired, name) ? rule.dependentRequired[name]!.map(numberOf) : [],
      ),
      min: rule.min,
      max: rule.max,
    };
  };

  const buildSet = ({ strings, literals, min, max }: SetRule): ObjectNode => {
    const value = add({ kind: 'sequence', nodes: [] });
    const known = literals.map((name) => ({
      name,
      lexeme: addLiteral(name, 'plain'),
      value,
    }));
    const others: OtherNames[] = [];
    if (strings !== null && (countTexts(strings)[0] ?? 0) <= FEW_NAMES) {
      for (const name of textsOf(strings)) known.push({ name, lexeme: addLiteral(name, 'name'), value });
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

  return { lower: lowerAll };
}
