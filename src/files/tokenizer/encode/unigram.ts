// Unigram: segments a piece so that the sum of its tokens' scores is largest, in one pass from left to right. A character that no
// token covers is unknown, with ten below the worst score; adjacent unknown characters become one token.

import { PairTable } from './pair-table.ts';
import { byteIds, type TokenModel } from './vocabulary.ts';

const UNKNOWN_PENALTY = 10;

export function createUnigram(config: Record<string, unknown>): TokenModel {
  const vocab = readVocabulary(config['vocab']);
  const ids = new Map(vocab.map(([token], id) => [token, id]));
  const scores = Float64Array.from(vocab, ([, score]) => score);
  const unknown = typeof config['unk_id'] === 'number' ? config['unk_id'] : null;
  if (unknown !== null && vocab[unknown] === undefined)
    throw new Error(`the unk_id ${unknown} is not a token`);
  const unknownScore = vocab.reduce((least, [, score]) => Math.min(least, score), Infinity) - UNKNOWN_PENALTY;
  const fallsBack = config['byte_fallback'] === true;
  const trie = createTrie(vocab);

  /** Start of each token of the best segmentation, and its id (-1: unknown), from the last to the first. */
  const cut = (piece: string): { from: number; id: number }[] => {
    const best = new Float64Array(piece.length + 1);
    const starts = new Int32Array(piece.length + 1).fill(-1);
    const tokens = new Int32Array(piece.length + 1);
    const offer = (from: number, to: number, score: number, id: number): void => {
      if (starts[to] !== -1 && best[from]! + score <= best[to]!) return;
      best[to] = best[from]! + score;
      starts[to] = from;
      tokens[to] = id;
    };
    for (let from = 0; from < piece.length;) {
      const single = piece.codePointAt(from)! > 0xffff ? 2 : 1;
      let covered = false;
      let node = 0;
      for (let to = from; to < piece.length;) {
        node = trie.children.get(node, piece.charCodeAt(to++));
        if (node < 0) break;
        const id = trie.ids[node]!;
        if (id < 0) continue;
        offer(from, to, scores[id]!, id);
        covered ||= to - from === single;
      }
      if (!covered) offer(from, from + single, unknownScore, -1);
      from += single;
    }
    const parts: { from: number; id: number }[] = [];
    for (let to = piece.length; to > 0; to = starts[to]!) {
      const id = tokens[to]!;
      const last = parts.at(-1);
      if (isUnknown(id) && last && isUnknown(last.id)) last.from = starts[to]!;
      else parts.push({ from: starts[to]!, id });
    }
    return parts;
  };
  const isUnknown = (id: number): boolean => id === -1 || id === unknown;

  return {
    ids,
    wordSuffix: '',
    encode(piece, into) {
      const parts = cut(piece).reverse();
      parts.forEach(({ from, id }, nth) => {
        if (!isUnknown(id)) return void into.push(id);
        const text = piece.slice(from, parts[nth + 1]?.from ?? piece.length);
        const bytes = fallsBack ? byteIds(text, ids) : null;
        if (bytes !== null) into.push(...bytes);
        else if (unknown === null)
          throw new Error(`${JSON.stringify(text)} is in no token, and there is no unk_id`);
        else into.push(unknown);
      });
    },
  };
}

function readVocabulary(vocab: unknown): [string, number][] {
  if (!Array.isArray(vocab) || vocab.length === 0) throw new Error('the model has no vocabulary');
  return vocab.map((entry: unknown, id) => {
    const [token, score] = Array.isArray(entry) ? (entry as unknown[]) : [];
    if (typeof token !== 'string' || typeof score !== 'number' || Number.isNaN(score)) {
      throw new Error(`token ${id} is ${JSON.stringify(entry)} instead of a text and its score`);
    }
    return [token, score];
  });
}

/** Node 0 is the root; a child by its UTF-16 unit. */
function createTrie(vocab: readonly [string, number][]): { children: PairTable; ids: Int32Array } {
  const children = new PairTable(2 * vocab.length);
  const idOf: number[] = [-1];
  vocab.forEach(([token], id) => {
    let node = 0;
    for (let at = 0; at < token.length; at++) {
      const unit = token.charCodeAt(at);
      let child = children.get(node, unit);
      if (child < 0) {
        child = idOf.push(-1) - 1;
        children.set(node, unit, child);
      }
      node = child;
    }
    if (node !== 0) idOf[node] = id;
  });
  return { children, ids: Int32Array.from(idOf) };
}
