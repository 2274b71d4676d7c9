// A traversal of the vocabulary with a lexeme: the trie over byte classes first, and the trie over bytes below each node where bytes
// of one class lead to different states. A position is a node of either: positions below `trie.nodes` are nodes of the byte trie, the
// others are nodes of the tries over byte classes, each of which stands for several nodes of the byte trie.

import { createByteClassTries, type ByteClassTries } from './byte-class-trie.ts';
import { DEAD, MIXED, WIDTH, type LazyDfa } from './lazy-dfa.ts';
import type { Trie } from './trie.ts';

/** Tokens and exits with more than `above` and at most `most` bytes. */
export interface LengthRange {
  above: number;
  most: number;
}

export class TrieTraversal {
  readonly trie: Trie;
  /** Number of positions. */
  readonly positions: number;
  /** Positions found by the last run(): `tokens` where tokens end, `exits` where the lexeme is complete and tokens continue. */
  readonly tokens: Int32Array;
  readonly exits: Int32Array;
  tokenCount = 0;
  exitCount = 0;
  /** Nodes that the last run() visited. */
  visited = 0;
  readonly #classTries: ByteClassTries;
  /** [depth]: row of the lazy DFA on the current path. */
  readonly #rowAt: Int32Array;

  constructor(trie: Trie) {
    this.trie = trie;
    this.#classTries = createByteClassTries(trie);
    this.positions = trie.nodes + this.#classTries.nodes;
    this.#rowAt = new Int32Array(trie.deepest + 1);
    this.tokens = new Int32Array(trie.nodes);
    this.exits = new Int32Array(trie.nodes);
  }

  /** The position to start from for all tokens. */
  root(dfa: LazyDfa, state: number): number {
    return this.trie.nodes + (dfa.distinguishesClasses(dfa.row(state)) ? this.#classTries.second : 0);
  }

  /** Traverses the subtree of position `from`, where the lexeme is in `state`. */
  run(from: number, dfa: LazyDfa, state: number, range: LengthRange): void {
    const { trie } = this;
    const classTries = this.#classTries;
    const rowAt = this.#rowAt;
    this.tokenCount = 0;
    this.exitCount = 0;
    this.visited = 0;
    if (from < trie.nodes) {
      rowAt[trie.depth[from]!] = dfa.row(state);
      this.#runBytes(from + 1, trie.subtreeEnd[from]!, dfa, range);
    } else {
      const node = from - trie.nodes;
      rowAt[classTries.depth[node]!] = dfa.row(state);
      this.#runClasses(node + 1, classTries.subtreeEnd[node]!, dfa, range);
    }
  }

  /** Nodes `from` to `to` of the byte trie, in preorder. */
  #runBytes(from: number, to: number, dfa: LazyDfa, { above, most }: LengthRange): void {
    const { byte, depth, subtreeEnd, token, longest } = this.trie;
    const rowAt = this.#rowAt;
    const { tokens, exits } = this;
    let { next, filled, complete } = dfa;
    let { tokenCount, exitCount, visited } = this;
    for (let node = from; node < to;) {
      visited++;
      const at = depth[node]!;
      if (at > most || longest[node]! <= above) {
        node = subtreeEnd[node]!;
        continue;
      }
      const row = rowAt[at - 1]!;
      if (filled[row] === 0) {
        dfa.fill(row);
        ({ next, filled, complete } = dfa);
      }
      const after = next[row * WIDTH + byte[node]!]!;
      if (after === DEAD) {
        node = subtreeEnd[node]!;
        continue;
      }
      rowAt[at] = after;
      if (at > above) {
        if (token[node]! >= 0) tokens[tokenCount++] = node;
        if (complete[after] === 1 && subtreeEnd[node]! > node + 1) exits[exitCount++] = node;
      }
      node++;
    }
    this.tokenCount = tokenCount;
    this.exitCount = exitCount;
    this.visited = visited;
  }

  /** Nodes `from` to `to` of the tries over byte classes, in preorder. */
  #runClasses(from: number, to: number, dfa: LazyDfa, range: LengthRange): void {
    const { label, depth, subtreeEnd, longest, tokenFrom } = this.#classTries;
    const { above, most } = range;
    const rowAt = this.#rowAt;
    const { tokens, exits } = this;
    const offset = this.trie.nodes;
    for (let node = from; node < to;) {
      this.visited++;
      const at = depth[node]!;
      if (at > most || longest[node]! <= above) {
        node = subtreeEnd[node]!;
        continue;
      }
      const row = rowAt[at - 1]!;
      if (dfa.filled[row] === 0) dfa.fill(row);
      const after = dfa.next[row * WIDTH + label[node]!]!;
      if (after < 0) {
        if (after === MIXED) this.#runMembers(node, dfa, range);
        node = subtreeEnd[node]!;
        continue;
      }
      rowAt[at] = after;
      if (at > above) {
        if (tokenFrom[node]! < tokenFrom[node + 1]!) tokens[this.tokenCount++] = offset + node;
        if (dfa.complete[after] === 1 && subtreeEnd[node]! > node + 1)
          exits[this.exitCount++] = offset + node;
      }
      node++;
    }
  }

  /** The subtrees of the nodes of the byte trie that a node over byte classes stands for. */
  #runMembers(node: number, dfa: LazyDfa, range: LengthRange): void {
    const { members, memberFrom } = this.#classTries;
    const { subtreeEnd } = this.trie;
    for (let i = memberFrom[node]!; i < memberFrom[node + 1]!; i++)
      this.#runBytes(members[i]!, subtreeEnd[members[i]!]!, dfa, range);
  }

  /** The nodes of the byte trie that a position stands for. */
  nodesOf(position: number): Int32Array {
    const { nodes } = this.trie;
    if (position < nodes) return Int32Array.of(position);
    const { members, memberFrom } = this.#classTries;
    return members.subarray(memberFrom[position - nodes], memberFrom[position - nodes + 1]);
  }

  /** Sets the bits of the tokens that end at a position. */
  setTokens(position: number, bits: Uint32Array): void {
    const { nodes, token, sameBytes } = this.trie;
    if (position < nodes) {
      for (let id = token[position]!; id >= 0; id = sameBytes[id]!) bits[id >>> 5]! |= 1 << (id & 31);
      return;
    }
    const { tokens, tokenFrom } = this.#classTries;
    const to = tokenFrom[position - nodes + 1]!;
    for (let i = tokenFrom[position - nodes]!; i < to; i++) bits[tokens[i]! >>> 5]! |= 1 << (tokens[i]! & 31);
  }

  /** Appends the tokens that end at a position. */
  listTokens(position: number, to: number[]): void {
    const { nodes, token, sameBytes } = this.trie;
    if (position < nodes) {
      for (let id = token[position]!; id >= 0; id = sameBytes[id]!) to.push(id);
      return;
    }
    const { tokens, tokenFrom } = this.#classTries;
    const end = tokenFrom[position - nodes + 1]!;
    for (let i = tokenFrom[position - nodes]!; i < end; i++) to.push(tokens[i]!);
  }

  /** Number of tokens that end at a position; tokens with equal bytes count once in the byte trie. */
  tokensAt(position: number): number {
    const { nodes } = this.trie;
    if (position < nodes) return 1;
    const { tokenFrom } = this.#classTries;
    return tokenFrom[position - nodes + 1]! - tokenFrom[position - nodes]!;
  }
}
