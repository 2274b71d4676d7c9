// What must hold of a program before it runs: every node has a text that matches it, and none begins with itself. So each state of
// the machine leads on to a complete text, and none takes endless steps without a byte.

import { EngineError } from '../files/error.ts';
import { canFinish as arrayCanFinish } from './array-state.ts';
import { canFinish as objectCanFinish, EMPTY } from './object-state.ts';
import type { ElementNode, Program, ProgramNode } from './program.ts';

/** Longest bounded repetition of something that may be empty. */
const MOST_EMPTY = 1000;

/** Throws bad_request for what matches nothing, or begins with itself. */
export function prune(program: Program): Program {
  const { nodes } = program;
  const matches = fixpoint(nodes, (node, known) => hasText(node, program, known));
  if (!matches[program.start]) {
    throw new EngineError(
      'bad_request',
      'no text that the tokens of this model can spell matches the grammar: check its bounds, and that each recursion can end',
    );
  }
  const pruned = nodes.map((node, i) => (matches[i] ? keep(node, matches) : node));
  const empty = fixpoint(pruned, (node, known) => mayBeEmpty(node, program, known));
  refuseLeftRecursion(pruned, matches, empty);
  pruned.forEach((node, i) => {
    if (matches[i] && node.kind === 'repeat' && empty[node.node]) pruned[i] = withoutCount(node);
  });
  return { ...program, nodes: pruned };
}

/** The least set of nodes that `holds` is true of, given the set. */
function fixpoint(nodes: ProgramNode[], holds: (node: ProgramNode, known: boolean[]) => boolean): boolean[] {
  const known = nodes.map(() => false);
  for (let grew = true; grew;) {
    grew = false;
    for (let i = nodes.length - 1; i >= 0; i--) {
      if (known[i] || !holds(nodes[i]!, known)) continue;
      known[i] = grew = true;
    }
  }
  return known;
}

function hasText(node: ProgramNode, { lexemes, marks }: Program, known: boolean[]): boolean {
  const spells = Object.values(marks).every((mark) => lexemes[mark]!.accept.length > 0);
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
      const kept = keep(node, known);
      return spells && kept.kind === 'object' && objectCanFinish(kept, EMPTY);
    }
    case 'array': {
      const kept = keep(node, known);
      return spells && kept.kind === 'array' && arrayCanFinish(kept, 0, 0);
    }
  }
}

/** The node without the parts that no text matches. */
function keep(node: ProgramNode, known: boolean[]): ProgramNode {
  const element = ({ matching, other }: ElementNode): ElementNode | null => {
    const kept = { matching: known[matching] ? matching : -1, other: known[other] ? other : -1 };
    return kept.matching < 0 && kept.other < 0 ? null : kept;
  };
  switch (node.kind) {
    case 'choice':
      return { ...node, nodes: node.nodes.filter((each) => known[each]) };
    case 'repeat':
      return known[node.node] ? node : { kind: 'sequence', nodes: [] };
    case 'object': {
      const numbers = new Map<number, number>();
      const known2 = node.known.filter(({ value }, i) => known[value] && numbers.set(i, numbers.size));
      const renumber = (list: number[]): number[] => list.map((i) => numbers.get(i) ?? -1);
      return {
        ...node,
        known: known2,
        others: node.others.filter(({ value }) => known[value]),
        required: renumber(node.required),
        dependents: node.dependents.filter((_, i) => numbers.has(i)).map(renumber),
      };
    }
    case 'array': {
      const prefix = node.prefix.map(element);
      const stop = prefix.indexOf(null);
      return {
        ...node,
        prefix: (stop < 0 ? prefix : prefix.slice(0, stop)).map((each) => each!),
        rest: stop < 0 && node.rest !== null ? element(node.rest) : null,
      };
    }
    default:
      return node;
  }
}

function mayBeEmpty(node: ProgramNode, { lexemes }: Program, known: boolean[]): boolean {
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

/** Nodes a node can begin with. */
function beginnings(node: ProgramNode, empty: boolean[]): number[] {
  if (node.kind === 'choice') return node.nodes;
  if (node.kind === 'repeat') return [node.node];
  if (node.kind !== 'sequence') return [];
  const stop = node.nodes.findIndex((each) => !empty[each]);
  return stop < 0 ? node.nodes : node.nodes.slice(0, stop + 1);
}

function refuseLeftRecursion(nodes: ProgramNode[], matches: boolean[], empty: boolean[]): void {
  const done = new Set<number>();
  const open = new Set<number>();
  for (let root = 0; root < nodes.length; root++) {
    const stack = matches[root] ? [root] : [];
    for (let at = stack.at(-1); at !== undefined; at = stack.at(-1)) {
      if (done.has(at)) {
        stack.pop();
      } else if (open.has(at)) {
        open.delete(at);
        done.add(at);
        stack.pop();
      } else {
        open.add(at);
        for (const each of beginnings(nodes[at]!, empty)) {
          if (open.has(each)) {
            throw new EngineError(
              'bad_request',
              'a rule of the grammar begins with itself by way of others: write it as a repetition, as in item ("," item)*',
            );
          }
          if (!done.has(each)) stack.push(each);
        }
      }
    }
  }
}

/** Of what may be empty, the least count says nothing: fewer that are not empty do as well. */
function withoutCount(node: Extract<ProgramNode, { kind: 'repeat' }>): ProgramNode {
  if (node.max !== Infinity && node.max > MOST_EMPTY) {
    throw new EngineError(
      'bad_request',
      `the grammar repeats something that may be empty up to ${node.max} times: ${MOST_EMPTY} is the most, or leave the bound out`,
    );
  }
  return { ...node, min: 0 };
}
