// Jump-forward decoding: bytes that the grammar leaves no choice about, as the tokens that the tokenizer would make of them. The run
// stops before the first of its tokens for which a longer token could continue past the forced bytes: there the model has a choice.

import type { ParserState } from '../stacks/graph-stack.ts';
import type { PushdownAutomaton } from '../stacks/pushdown-automaton.ts';
import type { TokenMasks } from './token-mask.ts';
import { childOf, type Trie } from './trie.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Most bytes of one run. */
const MOST_BYTES = 4096;

export class ForcedTokens {
  readonly #automaton: PushdownAutomaton;
  readonly #masks: TokenMasks;
  readonly #vocabulary: Vocabulary;
  readonly #cache = new WeakMap<ParserState, number[]>();

  constructor(automaton: PushdownAutomaton, masks: TokenMasks, vocabulary: Vocabulary) {
    this.#automaton = automaton;
    this.#masks = masks;
    this.#vocabulary = vocabulary;
  }

  /** The tokens that must follow a state. `isFirst`: the first of them is the first one of a text. */
  after(state: ParserState, isFirst: boolean): number[] {
    const { trie, firstTrie } = this.#vocabulary;
    if (isFirst && firstTrie !== trie) return this.#compute(state, true);
    let ids = this.#cache.get(state);
    if (!ids) this.#cache.set(state, (ids = this.#compute(state, false)));
    return ids;
  }

  #compute(from: ParserState, isFirst: boolean): number[] {
    const [top] = from.tops;
    if (!from.accepts && from.tops.length === 1 && top!.symbol.kind === 'token') return [top!.symbol.id];
    const { bytes, state } = this.#forcedBytes(from);
    if (bytes.length === 0) return [];
    const vocabulary = this.#vocabulary;
    const ids = asTokenized(bytes, vocabulary, isFirst) ?? longestMatches(bytes, vocabulary, isFirst);
    let at = 0;
    for (const [i, id] of ids.entries()) {
      const node = nodeOfRest(vocabulary.trie, bytes, at);
      if (node > 0 && this.#masks.continuesBelow(state, node)) return ids.slice(0, i);
      at += vocabulary.bytes(id, isFirst && i === 0).length;
    }
    return ids;
  }

  /** The bytes that must follow a state, and the state after them. */
  #forcedBytes(from: ParserState): { bytes: number[]; state: ParserState } {
    const bytes: number[] = [];
    let state = from;
    while (bytes.length < MOST_BYTES) {
      const byte = this.#onlyByte(state);
      const next = byte < 0 ? null : this.#automaton.step(state, byte);
      if (next === null) break;
      bytes.push(byte);
      state = next;
    }
    return { bytes, state };
  }

  /** The only byte that can follow a state, or -1. */
  #onlyByte({ tops, accepts }: ParserState): number {
    if (accepts) return -1;
    let only = -1;
    for (const { symbol } of tops) {
      if (symbol.kind === 'token') return -1;
      for (let byte = 0; byte < 256; byte++) {
        if (byte === only || !this.#automaton.takes(symbol, byte)) continue;
        if (only >= 0) return -1;
        only = byte;
      }
    }
    return only;
  }
}

/** The tokenizer's tokens of the bytes; null where they decode to other bytes, as with a space put before the text. */
function asTokenized(
  bytes: number[],
  { encode, bytes: bytesOf }: Vocabulary,
  isFirst: boolean,
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
    for (const byte of bytesOf(id, isFirst && i === 0)) if (bytes[at++] !== byte) return null;
  }
  return at === bytes.length ? ids : null;
}

/** The longest token at each place, up to a place where none begins. */
function longestMatches(
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

/** The node of the bytes from `from` to the end; -1: no token begins so. */
function nodeOfRest(trie: Trie, bytes: number[], from: number): number {
  if (bytes.length - from > trie.deepest) return -1;
  let node = 0;
  for (let at = from; at < bytes.length && node >= 0; at++) node = childOf(trie, node, bytes[at]!);
  return node;
}
