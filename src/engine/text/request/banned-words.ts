// Bans words from a text, wherever they begin and however tokens spell them. An Aho-Corasick automaton over the bytes of all words
// follows the text. The tokens that would complete a word are found in the trie of the vocabulary: tokens that contain a whole word
// once for all texts, tokens that only end a word once per state of the automaton.

import type { Trie } from '../../../grammar/masks/trie.ts';
import type { Vocabulary } from '../../../grammar/masks/vocabulary.ts';

/** Tokens that processors exclude as the next token of a text. */
export interface Bans {
  /** Clears the bits of the banned tokens, one word per 32 tokens. */
  clear(into: Uint32Array): void;
  has(id: number): boolean;
  /** Whether texts are banned in any tokenization: then a token after which a banned text is unavoidable is banned as well. */
  readonly bansTexts?: boolean;
  accept(id: number): void;
  /** A copy at the same place in the text; both continue independently. */
  fork(): Bans;
}

/** Returns a function that begins the text of one choice. `opens`: whether the first token opens a text, without its leading space. */
export function bannedWords(words: readonly string[], vocabulary: Vocabulary, opens = true): () => Bans {
  const automaton = createAutomaton(words);
  const { trie, firstTrie, size } = vocabulary;
  const whole = wholeWords(automaton, trie, size);
  const tables: WordTables = {
    vocabulary,
    automaton,
    whole,
    firstWhole: firstTrie === trie ? whole : wholeWords(automaton, firstTrie, size),
    endings: new Map(),
  };
  return () => follow(tables, 0, opens);
}

interface WordTables {
  vocabulary: Vocabulary;
  automaton: Automaton;
  /** Bits of the tokens that contain a whole word: within a text, and at its beginning. */
  whole: Uint32Array;
  firstWhole: Uint32Array;
  /** State → nodes of the trie at or below which tokens complete a word that has begun. */
  endings: Map<number, readonly number[]>;
}

function follow(tables: WordTables, from: number, opens: boolean): Bans {
  const { vocabulary, automaton, whole, firstWhole, endings } = tables;
  const { trie } = vocabulary;
  let state = from;
  let isFirst = opens;
  return {
    clear(into) {
      const bits = isFirst ? firstWhole : whole;
      for (let i = 0; i < bits.length; i++) into[i]! &= ~bits[i]!;
      if (state === 0) return;
      let nodes = endings.get(state);
      if (!nodes) endings.set(state, (nodes = endingWords(automaton, trie, state)));
      for (const node of nodes) eachBelow(trie, node, (id) => void (into[id >> 5]! &= ~(1 << (id & 31))));
    },
    has(id) {
      let at = state;
      return vocabulary.bytes(id, isFirst).some((byte) => {
        at = automaton.step(at, byte);
        return automaton.ends[at] === 1;
      });
    },
    bansTexts: true,
    accept(id) {
      for (const byte of vocabulary.bytes(id, isFirst)) state = automaton.step(state, byte);
      isFirst = false;
    },
    fork: () => follow(tables, state, isFirst),
  };
}

interface Automaton {
  step(state: number, byte: number): number;
  /** [states]: length in bytes of the longest prefix of a word with which the text ends. */
  depth: Int32Array;
  /** [states]: 1 if a word is complete in this state. */
  ends: Uint8Array;
}

/** Builds the automaton of words of at most 2^16 - 1 bytes together. State 0: no word has begun. */
function createAutomaton(words: readonly string[]): Automaton {
  const texts = words.map((word) => new TextEncoder().encode(word));
  /** Byte → class; bytes that occur in no word have class 0. */
  const classOf = new Uint16Array(256);
  let classes = 1;
  for (const text of texts) for (const byte of text) classOf[byte] ||= classes++;
  const most = texts.reduce((sum, text) => sum + text.length, 1);
  const next = new Uint16Array(most * classes);
  const depth = new Int32Array(most);
  const ends = new Uint8Array(most);
  let states = 1;
  for (const text of texts) {
    let state = 0;
    for (const [i, byte] of text.entries()) {
      const at = state * classes + classOf[byte]!;
      if (next[at] === 0) {
        depth[states] = i + 1;
        next[at] = states++;
      }
      state = next[at]!;
    }
    ends[state] = 1;
  }
  // Breadth first: a byte that does not continue a word has the transition of the longest proper suffix that is the beginning of a
  // word.
  const shorter = new Int32Array(states);
  const order = [0];
  for (const state of order) {
    const back = shorter[state]!;
    ends[state] ||= ends[back]!;
    for (let i = 1; i < classes; i++) {
      const at = state * classes + i;
      const other = state === 0 ? 0 : next[back * classes + i]!;
      if (next[at] === 0) next[at] = other;
      else {
        shorter[next[at]!] = other;
        order.push(next[at]!);
      }
    }
  }
  return { step: (state, byte) => next[state * classes + classOf[byte]!]!, depth, ends };
}

function wholeWords({ step, ends }: Automaton, trie: Trie, size: number): Uint32Array {
  const bits = new Uint32Array(Math.ceil(size / 32));
  const stateAt = new Int32Array(trie.deepest + 1);
  for (let node = 1; node < trie.nodes;) {
    const at = trie.depth[node]!;
    const state = step(stateAt[at - 1]!, trie.byte[node]!);
    stateAt[at] = state;
    if (ends[state] === 0) node++;
    else {
      eachBelow(trie, node, (id) => void (bits[id >> 5]! |= 1 << (id & 31)));
      node = trie.subtreeEnd[node]!;
    }
  }
  return bits;
}

/** Nodes at which a word that began before the token is complete. Words that begin within the token are among the whole words. */
function endingWords({ step, depth, ends }: Automaton, trie: Trie, from: number): number[] {
  const found: number[] = [];
  const stateAt = new Int32Array(trie.deepest + 1);
  stateAt[0] = from;
  for (let node = 1; node < trie.nodes;) {
    const at = trie.depth[node]!;
    const state = step(stateAt[at - 1]!, trie.byte[node]!);
    stateAt[at] = state;
    const isEnd = ends[state] === 1 && depth[state]! > at;
    if (isEnd) found.push(node);
    node = isEnd || depth[state]! <= at ? trie.subtreeEnd[node]! : node + 1;
  }
  return found;
}

function eachBelow(trie: Trie, from: number, take: (id: number) => void): void {
  for (let node = from; node < trie.subtreeEnd[from]!; node++)
    for (let id = trie.token[node]!; id >= 0; id = trie.sameBytes[id]!) take(id);
}
