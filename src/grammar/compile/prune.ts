// Checks and simplifies a compiled grammar: removes unproductive nodes, which no text matches, and refuses left recursion. Afterwards
// each state of the pushdown automaton leads to a complete text, and every epsilon closure is finite.

import { canFinish as arrayCanFinish } from '../json/array-state.ts';
import type {
  CompiledGrammar,
  ConditionsNode,
  DistinctNode,
  ElementNode,
  GrammarNode,
  ObjectNode,
  RepeatNode,
} from '../rules/compiled-grammar.ts';
import type { CompileWork } from '../bounds/compile-work.ts';
import { GrammarError } from '../bounds/grammar-error.ts';
import { NO_NAMES } from '../json/name-set.ts';
import type { ValueKind } from '../rules/object-conditions.ts';
import { canFinish as objectCanFinish } from '../json/object-state.ts';

/** Largest upper bound on repetitions of a nullable node. */
const MOST_NULLABLE = 1000;
/** Steps that a node, or a part of one, counts as in each pass. */
const PART_STEPS = 5;

/** Throws bad_request for a grammar that matches nothing, or has left recursion, and TooLarge. */
export function prune(grammar: CompiledGrammar, work: CompileWork): CompiledGrammar {
  const { nodes } = grammar;
  const productive = fixpoint(nodes, work, (node, known) => isProductive(node, grammar, { known, work }));
  if (!productive[grammar.start]) {
    throw new GrammarError(
      'bad_request',
      'no text that the tokens of this model can spell matches the grammar: check its bounds, and that each recursion can end',
    );
  }
  const pruned = nodes.map((node, i) => (productive[i] ? withoutUnproductive(node, productive) : node));
  const nullable = fixpoint(pruned, work, (node, known) => isNullable(node, grammar, known));
  refuseLeftRecursion(pruned, productive, nullable);
  pruned.forEach((node, i) => {
    if (productive[i] && node.kind === 'repeat' && nullable[node.node]) pruned[i] = withoutMin(node);
  });
  return { ...grammar, nodes: pruned };
}

/** [nodes]: the least set of nodes for which `holds` is true, given the set. */
function fixpoint(
  nodes: GrammarNode[],
  work: CompileWork,
  holds: (node: GrammarNode, known: boolean[]) => boolean,
): boolean[] {
  const known = nodes.map(() => false);
  for (let grew = true; grew;) {
    grew = false;
    for (let i = nodes.length - 1; i >= 0; i--) {
      if (known[i]) continue;
      work.spend(PART_STEPS * partCount(nodes[i]!));
      if (!holds(nodes[i]!, known)) continue;
      known[i] = grew = true;
    }
  }
  return known;
}

/** Number of parts of a node that a pass looks at. */
function partCount(node: GrammarNode): number {
  if (node.kind === 'sequence' || node.kind === 'choice') return 1 + node.nodes.length;
  if (node.kind === 'object')
    return [node.known, node.others, node.required, ...node.dependents].reduce(
      (sum, { length }) => sum + length,
      1 + node.dependents.length,
    );
  return node.kind === 'array' || node.kind === 'distinct' ? 2 + node.prefix.length : 1;
}

/** Whether some text matches the node, given the nodes that are known to be productive. */
function isProductive(
  node: GrammarNode,
  { lexemes, punctuation }: CompiledGrammar,
  { known, work }: { known: boolean[]; work: CompileWork },
): boolean {
  const canPunctuate = (): boolean =>
    Object.values(punctuation).every((lexeme) => lexemes[lexeme]!.accept.length > 0);
  switch (node.kind) {
    case 'lexeme':
      return lexemes[node.lexeme]!.accept.length > 0;
    case 'token':
      return true;
    case 'sequence':
      return node.nodes.every((each) => known[each]);
    case 'choice':
      return node.nodes.some((each) => known[each]);
    case 'repeat':
      return node.min <= node.max && (node.min === 0 || known[node.node] === true);
    case 'object': {
      const kept = withoutUnproductive(node, known);
      return (
        canPunctuate() &&
        kept.kind === 'object' &&
        objectCanFinish(kept, NO_NAMES, (steps) => work.spend(steps))
      );
    }
    case 'array': {
      const kept = withoutUnproductive(node, known);
      return canPunctuate() && kept.kind === 'array' && arrayCanFinish(kept, 0, 0);
    }
    case 'distinct': {
      const { prefix, rest, min, max } = distinctWithoutUnproductive(node, known);
      return canPunctuate() && min <= max && (rest >= 0 || min <= prefix.length);
    }
  }
}

/** The node without its unproductive parts. */
function withoutUnproductive(node: GrammarNode, productive: boolean[]): GrammarNode {
  switch (node.kind) {
    case 'choice':
      return { ...node, nodes: node.nodes.filter((each) => productive[each]) };
    case 'repeat':
      return productive[node.node] ? node : { kind: 'sequence', nodes: [] };
    case 'object':
      return objectWithoutUnproductive(node, productive);
    case 'array': {
      const prefix = node.prefix.map((element) => elementWithoutUnproductive(element, productive));
      const stop = prefix.indexOf(null);
      return {
        ...node,
        prefix: (stop < 0 ? prefix : prefix.slice(0, stop)).map((each) => each!),
        rest: stop < 0 && node.rest !== null ? elementWithoutUnproductive(node.rest, productive) : null,
      };
    }
    case 'distinct':
      return distinctWithoutUnproductive(node, productive);
    default:
      return node;
  }
}

function objectWithoutUnproductive(node: ObjectNode, productive: boolean[]): ObjectNode {
  const indices = new Map<number, number>();
  const known = node.known.filter(({ value }, i) => productive[value] && indices.set(i, indices.size));
  const reindexed = (list: number[]): number[] => list.map((i) => indices.get(i) ?? -1);
  return {
    ...node,
    ordered: node.known.slice(0, node.ordered).filter(({ value }) => productive[value]).length,
    known,
    others: node.others.filter(({ value }) => productive[value]),
    required: reindexed(node.required),
    dependents: node.dependents.filter((_, i) => indices.has(i)).map(reindexed),
    conditions: node.conditions && conditionsWithoutUnproductive(node, node.conditions, productive),
  };
}

function conditionsWithoutUnproductive(
  { known, others }: ObjectNode,
  conditions: ConditionsNode,
  productive: boolean[],
): ConditionsNode {
  const isKept = ({ value }: { value: number }): boolean => productive[value] === true;
  const keptKinds = (lists: ValueKind[][], of: readonly { value: number }[]): ValueKind[][] =>
    lists.filter((_, i) => isKept(of[i]!)).map((list) => list.filter(isKept));
  const given = conditions.absent.filter((_, i) => !isKept(known[i]!));
  return {
    count: conditions.count,
    given: given.reduce((all, bits) => all | bits, conditions.given),
    known: keptKinds(conditions.known, known),
    absent: conditions.absent.filter((_, i) => isKept(known[i]!)),
    others: keptKinds(conditions.others, others),
  };
}

function distinctWithoutUnproductive(node: DistinctNode, productive: boolean[]): DistinctNode {
  const stop = node.prefix.findIndex((element) => !productive[element]);
  return {
    ...node,
    prefix: stop < 0 ? node.prefix : node.prefix.slice(0, stop),
    rest: stop < 0 && productive[node.rest] ? node.rest : -1,
  };
}

/** null: neither kind of element is productive. */
function elementWithoutUnproductive(
  { matching, other }: ElementNode,
  productive: boolean[],
): ElementNode | null {
  const kept = { matching: productive[matching] ? matching : -1, other: productive[other] ? other : -1 };
  return kept.matching < 0 && kept.other < 0 ? null : kept;
}

/** Whether the empty text matches the node, given the nodes that are known to be nullable. */
function isNullable(node: GrammarNode, { lexemes }: CompiledGrammar, known: boolean[]): boolean {
  switch (node.kind) {
    case 'lexeme':
      return lexemes[node.lexeme]!.accept[0] === 1;
    case 'sequence':
      return node.nodes.every((each) => known[each]);
    case 'choice':
      return node.nodes.some((each) => known[each]);
    case 'repeat':
      return node.min === 0 || known[node.node] === true;
    default:
      return false;
  }
}

/** Nodes that a node can begin with. */
function firstNodes(node: GrammarNode, nullable: boolean[]): number[] {
  if (node.kind === 'choice') return node.nodes;
  if (node.kind === 'repeat') return [node.node];
  if (node.kind !== 'sequence') return [];
  const stop = node.nodes.findIndex((each) => !nullable[each]);
  return stop < 0 ? node.nodes : node.nodes.slice(0, stop + 1);
}

/** Throws bad_request for a node that can begin with itself before any text, by a depth-first search. */
function refuseLeftRecursion(nodes: GrammarNode[], productive: boolean[], nullable: boolean[]): void {
  const done = new Set<number>();
  const open = new Set<number>();
  for (let root = 0; root < nodes.length; root++) {
    const stack = productive[root] ? [root] : [];
    for (let at = stack.at(-1); at !== undefined; at = stack.at(-1)) {
      if (done.has(at) || open.has(at)) {
        open.delete(at);
        done.add(at);
        stack.pop();
        continue;
      }
      open.add(at);
      for (const each of firstNodes(nodes[at]!, nullable)) {
        if (open.has(each)) {
          throw new GrammarError(
            'bad_request',
            'a rule of the grammar begins with itself by way of others: write it as a repetition, as in item ("," item)*',
          );
        }
        if (!done.has(each)) stack.push(each);
      }
    }
  }
}

/** A repetition of a nullable node without its lower bound: empty repeats reach any bound, so it matches the same texts. */
function withoutMin(node: RepeatNode): RepeatNode {
  if (node.max !== Infinity && node.max > MOST_NULLABLE) {
    throw new GrammarError(
      'bad_request',
      `the grammar repeats something that may be empty up to ${node.max} times: ${MOST_NULLABLE} is the most, or leave the bound out`,
    );
  }
  return { ...node, min: 0 };
}
