// The nodes of JSON objects and arrays in a compiled grammar.

import type {
  ArrayNode,
  ConditionsNode,
  DistinctNode,
  ElementNode,
  ObjectNode,
  OtherNames,
} from '../rules/compiled-grammar.ts';
import { countTexts, isInfiniteEverywhere, textsOf } from '../automata/dfa-language.ts';
import {
  accepts,
  ANY_TEXT,
  intersect,
  isEmpty,
  subtract,
  TooLarge,
  type Dfa,
  type Limits,
} from '../automata/dfa.ts';
import type { LexemeTable } from '../lexemes/lexeme-table.ts';
import type { ArrayRule, DistinctRule, Element, ObjectRule, Rule, SetRule } from '../rules/rule.ts';
import type { ValueKind } from '../rules/object-conditions.ts';
import { wordsDfa } from '../automata/word-dfa.ts';

/** The parts of the compiler that build nodes. */
export interface NodeParts {
  lexemes: LexemeTable;
  limits: Limits;
  /** Index of the node of a rule. */
  nodeOf(rule: Rule): number;
  /** Index of a node that matches the empty text. */
  emptyNode(): number;
}

/** Up to this count, the names of a pattern become known names. */
const FEW_NAMES = 1000;
/** Most known names of an object; each is an alternative wherever a name may begin. */
const MOST_NAMES = 16_384;
/** Most known names of an object in which some bring others with them and an order is kept; what can be completed is searched for there. */
const MOST_ORDERED = 64;
/** Steps that an entry of an automaton counts as where its texts are counted. */
const COUNT_STEPS = 20;

export function objectNode(rule: ObjectRule, parts: NodeParts): ObjectNode {
  const { limits } = parts;
  if (rule.properties.length > MOST_NAMES) throw new TooLarge(`an object of over ${MOST_NAMES} names`);
  const isAllowed = (name: string): boolean => rule.names === null || accepts(rule.names, name);
  const names = new NameGroups(parts);
  const { conditions } = rule;
  const kindsOf = (list: { rule: Rule; meets: number }[] | undefined): ValueKind[] =>
    list?.map((kind) => ({ value: parts.nodeOf(kind.rule), meets: kind.meets })) ?? [];
  let ordered = 0;
  rule.properties.forEach(({ name, value }, i) => {
    const absent = conditions?.absent[i] ?? 0;
    if (value === null || !isAllowed(name)) names.conditions.given |= absent;
    else {
      names.addKnown(name, parts.nodeOf(value), { kinds: kindsOf(conditions?.properties[i]), absent });
      if (i < rule.ordered) ordered++;
    }
  });

  const hasDependents = Object.keys(rule.dependentRequired).length > 0;

  const listed = wordsDfa(
    rule.properties.map(({ name }) => name),
    limits,
  );
  const allowed = rule.names ?? ANY_TEXT;
  let left = isEmpty(listed) ? allowed : subtract(allowed, listed, limits);
  const addOthers = (dfa: Dfa, value: Rule | null, kinds: ValueKind[]): void => {
    if (value !== null && !isEmpty(dfa)) names.addOthers(dfa, parts.nodeOf(value), kinds);
  };
  rule.patterns.forEach(({ names: pattern, value }, i) => {
    addOthers(intersect(left, pattern, limits), value, kindsOf(conditions?.patterns[i]));
    left = subtract(left, pattern, limits);
  });
  addOthers(left, rule.rest, []);

  const { known, others } = names;
  const indices = new Map(known.map(({ name }, i) => [name, i]));
  const indexOf = (name: string): number => indices.get(name) ?? -1;
  return {
    kind: 'object',
    isSet: false,
    ordered: hasDependents && known.length > MOST_ORDERED ? 0 : ordered,
    known,
    others,
    required: [...new Set(rule.required)].map(indexOf),
    dependents: known.map(({ name }) =>
      Object.hasOwn(rule.dependentRequired, name) ? rule.dependentRequired[name]!.map(indexOf) : [],
    ),
    min: rule.min,
    max: rule.max,
    conditions: conditions === undefined ? null : { count: conditions.count, ...names.conditions },
  };
}

/** An array of distinct strings and literals, as an object whose names are the elements. */
export function setNode({ strings, literals, min, max }: SetRule, parts: NodeParts): ObjectNode {
  const value = parts.emptyNode();
  const names = new NameGroups(parts);
  for (const literal of literals)
    names.known.push({ name: literal, lexeme: parts.lexemes.addLiteral(literal, 'plain'), value });
  if (strings !== null) names.addOthers(strings, value);
  const { known, others } = names;
  return {
    kind: 'object',
    isSet: true,
    ordered: 0,
    known,
    others,
    required: [],
    dependents: known.map(() => []),
    min,
    max,
    conditions: null,
  };
}

/** What the values and the absence of a known name do for the conditions of its object. */
interface KnownKinds {
  kinds: ValueKind[];
  absent: number;
}

/** The names of an object while its node is built. */
class NameGroups {
  readonly known: ObjectNode['known'] = [];
  readonly others: OtherNames[] = [];
  readonly conditions: Omit<ConditionsNode, 'count'> = { given: 0, known: [], absent: [], others: [] };
  readonly #parts: NodeParts;

  constructor(parts: NodeParts) {
    this.#parts = parts;
  }

  addKnown(name: string, value: number, { kinds, absent }: KnownKinds): void {
    this.known.push({ name, lexeme: this.#parts.lexemes.addLiteral(name, 'name'), value });
    this.conditions.known.push(kinds);
    this.conditions.absent.push(absent);
  }

  /** The names that an automaton accepts, which have the same value. */
  addOthers(dfa: Dfa, value: number, kinds: ValueKind[] = []): void {
    this.#parts.limits.work.spend(COUNT_STEPS * dfa.next.length);
    if ((countTexts(dfa)[0] ?? 0) <= FEW_NAMES) {
      for (const name of textsOf(dfa)) this.addKnown(name, value, { kinds, absent: 0 });
      return;
    }
    const lexeme = this.#parts.lexemes.add(dfa, 'name');
    this.conditions.others.push(kinds);
    this.others.push({ lexeme, value, scarce: isInfiniteEverywhere(dfa) ? null : dfa });
  }
}

export function arrayNode(rule: ArrayRule, parts: NodeParts): ArrayNode {
  const stop = rule.prefix.indexOf(null);
  const prefix = stop < 0 ? rule.prefix : rule.prefix.slice(0, stop);
  return {
    kind: 'array',
    prefix: prefix.map((element) => elementNode(element!, parts)),
    rest: stop < 0 && rule.rest !== null ? elementNode(rule.rest, parts) : null,
    min: rule.min,
    max: rule.max,
    contains: rule.contains ?? null,
  };
}

export function distinctNode({ prefix, rest, min, max }: DistinctRule, { nodeOf }: NodeParts): DistinctNode {
  return {
    kind: 'distinct',
    prefix: prefix.map((element) => nodeOf(element)),
    rest: rest === null ? -1 : nodeOf(rest),
    min,
    max,
  };
}

function elementNode(element: Element, { nodeOf }: NodeParts): ElementNode {
  if ('type' in element) {
    const node = nodeOf(element);
    return { matching: node, other: node };
  }
  const indexOf = (rule: Rule | null): number => (rule === null ? -1 : nodeOf(rule));
  return { matching: indexOf(element.matching), other: indexOf(element.other) };
}
