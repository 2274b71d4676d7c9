// Runs a program over bytes. A state is a set of stacks, all that the text so far can mean; a byte leads to the next state or to none.
// Every state leads on to a complete text: the program has nothing that cannot be finished, and objects and arrays offer only
// what they can finish.

import * as arrays from './array-state.ts';
import { advance, goesOn, isComplete, type Lexeme } from './lexeme.ts';
import { createNames } from './object-names.ts';
import * as objects from './object-state.ts';
import type { ArrayNode, Mark, ObjectNode, Program } from './program.ts';
import {
  createArena,
  moveState,
  type Arena,
  type Cell,
  type Item,
  type ObjectItem,
  type Opened,
  type OtherName,
  type State,
} from './stack.ts';
import { CELL_WORK, Work } from './work.ts';

export interface Machine {
  /** The work of the mask or token that is being computed. */
  readonly work: Work;
  start(): State;
  /** null: no text goes on so. */
  step(state: State, byte: number): State | null;
  stepToken(state: State, id: number): State | null;
  /** Of stacks and states, about. */
  readonly bytes: number;
  /** What a stack comes to before the next byte. */
  open(cell: Cell): Opened;
  lexemeOf(item: { lexeme: number }): Lexeme;
  /** What stands above `below` once a name that is not known is complete; null: it was there before. */
  closeName(below: Cell, name: OtherName, spelled: string): Cell | null;
  /** Whether the name is an element of a set: then no colon follows it. */
  isInSet(name: OtherName): boolean;
}

/** Stacks and states after which a new arena is begun. */
const MOST_KEPT = 150_000;
/** Approximate bytes of one of them. */
const CELL_BYTES = 400;

export function createMachine(program: Program, available: Uint8Array): Machine {
  const { nodes, marks } = program;
  const lexemes = [...program.lexemes];
  const work = new Work();
  let arena = createArena(work);

  const object = (node: number): ObjectNode => nodes[node] as ObjectNode;
  const nodeItem = (to: Arena, node: number): Item => to.item({ key: `n${node}`, kind: 'node', node });
  const lexemeItem = (to: Arena, lexeme: number, state = 0): Item =>
    to.item({ key: `l${lexeme}.${state}`, kind: 'lexeme', lexeme, state });
  const mark = (to: Arena, below: Cell, which: Mark): Cell => to.push(below, lexemeItem(to, marks[which]));
  const objectItem = (to: Arena, node: number, at: ObjectItem['at'], seen: objects.Seen): Item =>
    to.item({ key: `o${node}${at}${objects.seenKey(seen)}`, kind: 'object', node, at, seen });
  const arrayItem = (to: Arena, node: number, at: 'first' | 'next', count: number, matched: number): Item => {
    const kept = arrays.saturate(nodes[node] as ArrayNode, count, matched);
    return to.item({ key: `a${node}${at}${kept.count}.${kept.matched}`, kind: 'array', node, at, ...kept });
  };

  const names = createNames(program, lexemes, available);

  /** Cells that `cell` can be replaced by without a byte; itself where it takes one. */
  function* replace(to: Arena, cell: Cell): Generator<Cell, void, void> {
    const { item } = cell;
    const below = cell.below!;
    switch (item.kind) {
      case 'union':
        yield* item.of;
        break;
      case 'node':
        yield* replaceNode(to, below, item.node);
        break;
      case 'repeat': {
        const node = nodes[item.node] as Extract<Program['nodes'][number], { kind: 'repeat' }>;
        if (item.done >= node.min) yield below;
        if (item.done < node.max) {
          const done = node.max === Infinity ? Math.min(item.done + 1, node.min) : item.done + 1;
          const rest = to.item({ key: `r${item.node}.${done}`, kind: 'repeat', node: item.node, done });
          yield to.push(to.push(below, rest), nodeItem(to, node.node));
        }
        break;
      }
      case 'object':
        yield* replaceObject(to, below, item);
        break;
      case 'array': {
        const node = nodes[item.node] as ArrayNode;
        const { count, matched } = item;
        if (arrays.mayClose(node, count, matched))
          yield mark(to, below, item.at === 'first' ? 'closeArray' : 'spaceCloseArray');
        for (const next of arrays.nextElements(node, count, matched)) {
          const rest = to.push(below, arrayItem(to, item.node, 'next', count + 1, next.matched));
          const value = to.push(rest, nodeItem(to, next.value));
          yield item.at === 'first' ? value : mark(to, value, 'comma');
        }
        break;
      }
    }
  }

  function* replaceNode(to: Arena, below: Cell, number: number): Generator<Cell, void, void> {
    const node = nodes[number]!;
    switch (node.kind) {
      case 'lexeme':
        yield to.push(below, lexemeItem(to, node.lexeme));
        break;
      case 'token':
        yield to.push(below, to.item({ key: `t${node.id}`, kind: 'token', id: node.id }));
        break;
      case 'sequence':
        yield node.nodes.reduceRight((at, each) => to.push(at, nodeItem(to, each)), below);
        break;
      case 'choice':
        for (const each of node.nodes) yield to.push(below, nodeItem(to, each));
        break;
      case 'repeat':
        yield to.push(below, to.item({ key: `r${number}.0`, kind: 'repeat', node: number, done: 0 }));
        break;
      case 'object':
        yield mark(
          to,
          to.push(below, objectItem(to, number, 'first', objects.EMPTY)),
          node.isSet ? 'openArray' : 'openObject',
        );
        break;
      case 'array':
        yield mark(to, to.push(below, arrayItem(to, number, 'first', 0, 0)), 'openArray');
        break;
    }
  }

  function* replaceObject(
    to: Arena,
    below: Cell,
    { node: number, at, seen }: ObjectItem,
  ): Generator<Cell, void, void> {
    const node = object(number);
    if (at !== 'name' && objects.mayClose(node, seen)) yield mark(to, below, closing(node, at));
    const { known, others } = names.next(number, seen);
    if (known.length + others.length === 0) return;
    if (at === 'next') {
      yield mark(to, to.push(below, objectItem(to, number, 'name', seen)), 'comma');
      return;
    }
    for (const i of known) {
      const rest = to.push(below, objectItem(to, number, 'next', objects.withKnown(seen, i)));
      const value = valueOf(to, rest, node, node.known[i]!.value);
      yield to.push(value, lexemeItem(to, node.known[i]!.lexeme));
    }
    for (const group of others) {
      const lexeme = names.lexeme(number, group, seen);
      yield to.push(below, otherName(to, { node: number, group, seen, spelled: '', lexeme, state: 0 }));
    }
  }

  const closing = ({ isSet }: ObjectNode, at: ObjectItem['at']): Mark => {
    if (at === 'first') return isSet ? 'closeArray' : 'closeObject';
    return isSet ? 'spaceCloseArray' : 'spaceCloseObject';
  };
  const valueOf = (to: Arena, rest: Cell, { isSet }: ObjectNode, value: number): Cell =>
    isSet ? rest : mark(to, to.push(rest, nodeItem(to, value)), 'colon');

  const otherName = (to: Arena, name: Omit<OtherName, 'key' | 'kind'>): Item => {
    const key = `m${name.node}.${name.group}.${name.lexeme}.${name.state}${objects.seenKey(name.seen)}${name.spelled}`;
    return to.item({ key, kind: 'name', ...name });
  };

  const open = (cell: Cell): Opened => {
    if (cell.opened) return cell.opened;
    const to = cell.arena;
    const leaves: Cell[] = [];
    let ends = false;
    const seen = new Set([cell]);
    for (const each of seen) {
      work.spend(CELL_WORK);
      const { item } = each;
      if (item.kind === 'bottom') ends = true;
      else if (item.kind === 'token' || item.kind === 'name') leaves.push(each);
      else if (item.kind === 'lexeme') {
        const lexeme = lexemes[item.lexeme]!;
        if (goesOn(lexeme, item.state)) leaves.push(each);
        if (isComplete(lexeme, item.state)) seen.add(each.below!);
      } else for (const next of replace(to, each)) seen.add(next);
    }
    return (cell.opened = { leaves, ends });
  };
  const closeName = (below: Cell, name: OtherName, spelled: string): Cell | null => {
    if (name.seen.others[name.group]?.includes(spelled)) return null;
    const to = below.arena;
    const rest = objectItem(to, name.node, 'next', objects.withOther(name.seen, name.group, spelled));
    const node = object(name.node);
    return valueOf(to, to.push(below, rest), node, node.others[name.group]!.value);
  };

  const take = (to: Arena, leaf: Cell, byte: number, into: (opened: Opened) => void): void => {
    const { item } = leaf;
    const below = leaf.below!;
    if (item.kind !== 'lexeme' && item.kind !== 'name') return;
    const lexeme = lexemes[item.lexeme]!;
    const state = advance(lexeme, item.state, byte);
    if (state < 0) return;
    if (item.kind === 'lexeme') {
      into(open(to.push(below, lexemeItem(to, item.lexeme, state))));
      return;
    }
    const spelled = item.spelled + String.fromCharCode(byte);
    if (!isComplete(lexeme, state)) {
      const { node, group, seen } = item;
      into({
        leaves: [to.push(below, otherName(to, { node, group, seen, spelled, lexeme: item.lexeme, state }))],
        ends: false,
      });
      return;
    }
    const closed = closeName(below, item, spelled);
    if (closed) into(open(closed));
  };

  const gather = (to: Arena, each: (into: (opened: Opened) => void) => void): State | null => {
    const leaves = new Set<Cell>();
    let ends = false;
    each((opened) => {
      work.spend(opened.leaves.length * CELL_WORK);
      for (const leaf of opened.leaves) leaves.add(leaf);
      ends ||= opened.ends;
    });
    return leaves.size === 0 && !ends ? null : to.state(leaves, ends);
  };

  const current = (state: State): State => {
    if (arena.size > MOST_KEPT) arena = createArena(work);
    return state.arena.size > MOST_KEPT ? moveState(state, arena) : state;
  };

  return {
    work,
    get bytes() {
      return arena.size * CELL_BYTES;
    },
    open,
    closeName,
    isInSet: ({ node }) => object(node).isSet,
    lexemeOf: ({ lexeme }) => lexemes[lexeme]!,
    start: () =>
      gather(arena, (into) => into(open(arena.push(arena.bottom, nodeItem(arena, program.start)))))!,
    step(given, byte) {
      const known = given.next.get(byte);
      if (known !== undefined) return known;
      const state = current(given);
      const next = gather(state.arena, (into) => {
        for (const leaf of state.leaves) take(state.arena, leaf, byte, into);
      });
      given.next.set(byte, next);
      return next;
    },
    stepToken(given, id) {
      const state = current(given);
      return gather(state.arena, (into) => {
        for (const { item, below } of state.leaves)
          if (item.kind === 'token' && item.id === id) into(open(below!));
      });
    },
  };
}
