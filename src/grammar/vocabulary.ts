// A vocabulary as grammars see it: bytes of tokens as trees, and what was found about lexemes in them.

import { createTrie, type Trie } from './trie.ts';
import { createWalker, type Walker } from './walk.ts';

export interface Vocabulary {
  /** Tokens the model has logits for. */
  size: number;
  /** Tokens that stand in running text, special ones left out. */
  trie: Trie;
  /** The same where a token opens the text, and its leading space is cut. */
  firstTrie: Trie;
  walker: Walker;
  firstWalker: Walker;
  /** 1 for each byte that is a token by itself. */
  available: Uint8Array;
  /** They end a text. */
  endIds: readonly number[];
  /** What a token of `trie` stands for, `first`: of `firstTrie`; nothing where it is no text. */
  bytes(id: number, first: boolean): Uint8Array;
  encode(text: string): number[];
}

/** The part of a tokenizer that a vocabulary is made from. */
export interface VocabularySource {
  /** Ids of special tokens. */
  readonly specialIds: ReadonlySet<number>;
  /** Ids of added tokens that mark parts of a conversation, special or not. */
  readonly markIds: ReadonlySet<number>;
  readonly vocabSize: number;
  /** Leading spaces that decoding cuts off a whole text. */
  readonly leadingSpaces: number;
  /** Bytes of a token; `first`: as the first token of a text. */
  tokenBytes(id: number, first: boolean): Uint8Array;
  encode(text: string, options: { addSpecialTokens: boolean }): number[];
}

export function createVocabulary(
  tokenizer: VocabularySource,
  size: number,
  endIds: readonly number[],
): Vocabulary {
  const isText = (id: number): boolean => id < size && !tokenizer.specialIds.has(id) && !endIds.includes(id);
  const ids = Array.from({ length: Math.min(size, tokenizer.vocabSize) }, (_, id) => id).filter(isText);
  const nothing = new Uint8Array(0);
  const bytes = (id: number, first: boolean): Uint8Array => {
    if (!isText(id)) return nothing;
    const all = tokenizer.tokenBytes(id, first);
    if (!first) return all;
    let spaces = 0;
    while (spaces < tokenizer.leadingSpaces && all[spaces] === 0x20) spaces++;
    return all.subarray(spaces);
  };
  const treeOf = (first: boolean): Trie => createTrie(ids, (id) => bytes(id, first), size);
  const trie = treeOf(false);
  // A token that begins with a space is read otherwise, or none is.
  const spaced = ids.filter((id) => bytes(id, false)[0] === 0x20).slice(0, 16);
  const changes = spaced.some((id) => bytes(id, true).length !== bytes(id, false).length);
  const firstTrie = changes ? treeOf(true) : trie;
  const available = new Uint8Array(256);
  for (let node = 1; node < trie.nodes; node = trie.end[node]!) {
    if (trie.token[node]! >= 0) available[trie.byte[node]!] = 1;
  }
  const walker = createWalker(trie, size, tokenizer.markIds);
  const firstWalker = changes ? createWalker(firstTrie, size, tokenizer.markIds) : walker;
  const encode = (text: string): number[] => tokenizer.encode(text, { addSpecialTokens: false });
  return { size, trie, firstTrie, walker, firstWalker, available, endIds, bytes, encode };
}
