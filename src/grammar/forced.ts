// Text that a grammar leaves no choice about, as the tokens a tokenizer makes of it. Its last tokens are left to the model where
// a token that begins like them goes on beyond: a run ends where the model may see it otherwise.

import { advance } from './lexeme.ts';
import type { Machine } from './machine.ts';
import type { Masks } from './mask.ts';
import type { State } from './stack.ts';
import { childOf, type Trie } from './trie.ts';
import type { Vocabulary } from './vocabulary.ts';

export interface ForcedRuns {
  /** `first`: the run opens the text. */
  after(state: State, first: boolean): number[];
}

const MOST_BYTES = 4096;

export function createForcedRuns(machine: Machine, masks: Masks, vocabulary: Vocabulary): ForcedRuns {
  const found = new WeakMap<State, number[]>();

  const run = (from: State): { bytes: number[]; state: State } => {
    const bytes: number[] = [];
    let state = from;
    while (bytes.length < MOST_BYTES) {
      const byte = onlyByte(machine, state);
      const next = byte < 0 ? null : machine.step(state, byte);
      if (next === null) break;
      bytes.push(byte);
      state = next;
    }
    return { bytes, state };
  };

  const tokens = (from: State, first: boolean): number[] => {
    const [leaf] = from.leaves;
    if (!from.ends && from.leaves.length === 1 && leaf!.item.kind === 'token') return [leaf!.item.id];
    const { bytes, state } = run(from);
    if (bytes.length === 0) return [];
    const ids = asTokenized(bytes, vocabulary, first) ?? longestFirst(bytes, vocabulary, first);
    let at = 0;
    for (const [i, id] of ids.entries()) {
      const node = nodeOf(vocabulary.trie, bytes, at);
      if (node > 0 && masks.goesBelow(state, node)) return ids.slice(0, i);
      at += vocabulary.bytes(id, first && i === 0).length;
    }
    return ids;
  };

  return {
    after(state, first) {
      if (first && vocabulary.firstTrie !== vocabulary.trie) return tokens(state, true);
      let ids = found.get(state);
      if (!ids) found.set(state, (ids = tokens(state, false)));
      return ids;
    },
  };
}

/** The one byte that can follow, or -1. */
function onlyByte(machine: Machine, { leaves, ends }: State): number {
  if (ends) return -1;
  let only = -1;
  for (const { item } of leaves) {
    if (item.kind !== 'lexeme' && item.kind !== 'name') return -1;
    const lexeme = machine.lexemeOf(item);
    for (let byte = 0; byte < 256; byte++) {
      if (advance(lexeme, item.state, byte) < 0 || byte === only) continue;
      if (only >= 0) return -1;
      only = byte;
    }
  }
  return only;
}

/** null where the tokenizer writes the text otherwise, as with a space before it. */
function asTokenized(
  bytes: number[],
  { encode, bytes: bytesOf }: Vocabulary,
  first: boolean,
): number[] | null {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
  const ids = encode(text);
  let at = 0;
  for (const [i, id] of ids.entries()) {
    for (const byte of bytesOf(id, first && i === 0)) if (bytes[at++] !== byte) return null;
  }
  return at === bytes.length ? ids : null;
}

/** The longest token at each place; what no token spells to its end is left. */
function longestFirst(
  bytes: number[],
  { trie, firstTrie, bytes: bytesOf }: Vocabulary,
  first: boolean,
): number[] {
  const ids: number[] = [];
  for (let at = 0; at < bytes.length;) {
    const isFirst = first && at === 0;
    const id = longestToken(isFirst ? firstTrie : trie, bytes, at);
    if (id < 0) break;
    ids.push(id);
    at += bytesOf(id, isFirst).length;
  }
  return ids;
}

function longestToken(trie: Trie, bytes: number[], from: number): number {
  let longest = -1;
  let node = 0;
  for (let at = from; at < bytes.length; at++) {
    node = childOf(trie, node, bytes[at]!);
    if (node < 0) break;
    if (trie.token[node]! >= 0) longest = trie.token[node]!;
  }
  return longest;
}

/** Where the bytes from `from` to the end lead; -1: no token begins so. */
function nodeOf(trie: Trie, bytes: number[], from: number): number {
  if (bytes.length - from > trie.deepest) return -1;
  let node = 0;
  for (let at = from; at < bytes.length && node >= 0; at++) node = childOf(trie, node, bytes[at]!);
  return node;
}
