// The vocabulary of a model as grammars use it: the bytes of its tokens as tries, and the cached masks of lexemes over them.

import { LexemeMasks } from './lexeme-mask.ts';
import { createTrie, type Trie } from './trie.ts';

export interface Vocabulary {
  /** Tokens the model has logits for. */
  size: number;
  /** Tokens that stand in running text; special ones are left out. */
  trie: Trie;
  /** Tokens as they read at the start of a text, where decoding cuts off leading spaces; `trie` itself where it cuts none. */
  firstTrie: Trie;
  lexemeMasks: LexemeMasks;
  firstLexemeMasks: LexemeMasks;
  /** [256]: 1 for each byte that is a token by itself. */
  available: Uint8Array;
  /** Tokens that end a text. */
  endIds: readonly number[];
  /** Bytes of a token; empty where it is not text. `first`: as the first token of a text. */
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

/** `size`: tokens the model has logits for. */
export function createVocabulary(
  tokenizer: VocabularySource,
  size: number,
  endIds: readonly number[],
): Vocabulary {
  const { specialIds, markIds, vocabSize } = tokenizer;
  const isText = (id: number): boolean => id < size && !specialIds.has(id) && !endIds.includes(id);
  const ids = Array.from({ length: Math.min(size, vocabSize) }, (_, id) => id).filter(isText);
  const nothing = new Uint8Array(0);
  const bytes = (id: number, first: boolean): Uint8Array =>
    isText(id) ? bytesOf(tokenizer, id, first) : nothing;
  const trieOf = (first: boolean): Trie => createTrie(ids, (id) => bytes(id, first), size);
  const trie = trieOf(false);
  // A tokenizer that reads the first token differently does so for every token with a leading space.
  const spaced = ids.filter((id) => bytes(id, false)[0] === 0x20).slice(0, 16);
  const differs = spaced.some((id) => bytes(id, true).length !== bytes(id, false).length);
  const firstTrie = differs ? trieOf(true) : trie;
  const lexemeMasks = new LexemeMasks(trie, size, markIds);
  const firstLexemeMasks = differs ? new LexemeMasks(firstTrie, size, markIds) : lexemeMasks;
  const encode = (text: string): number[] => tokenizer.encode(text, { addSpecialTokens: false });
  const available = availableBytes(trie);
  return { size, trie, firstTrie, lexemeMasks, firstLexemeMasks, available, endIds, bytes, encode };
}

function bytesOf(tokenizer: VocabularySource, id: number, first: boolean): Uint8Array {
  const all = tokenizer.tokenBytes(id, first);
  if (!first) return all;
  let spaces = 0;
  while (spaces < tokenizer.leadingSpaces && all[spaces] === 0x20) spaces++;
  return all.subarray(spaces);
}

/** [256]: 1 for each byte that is a token by itself. */
function availableBytes({ nodes, subtreeEnd, token, byte }: Trie): Uint8Array {
  const available = new Uint8Array(256);
  for (let node = 1; node < nodes; node = subtreeEnd[node]!) {
    if (token[node]! >= 0) available[byte[node]!] = 1;
  }
  return available;
}
