// The merges of a SentencePiece vocabulary, which has scores instead: every way to make a token of two others, best score first.

import { KIND, type GgufToken } from './vocabulary.ts';

/** Characters of a token that merges make. To look for the ways to cut one takes time as the square of its length. */
const MOST_LENGTH = 512;

export function scoredMerges(tokens: readonly GgufToken[]): [string, string][] {
  const ids = new Map<string, number>();
  for (const { text, kind, id } of tokens)
    if (kind === KIND.normal && text.length <= MOST_LENGTH) ids.set(text, id);
  const made = [...ids].map(([text, id]) => ({ text, id, score: tokens[id]!.score }));
  made.sort((a, b) => b.score - a.score || a.id - b.id);
  return made.flatMap(({ text }) => splitsOf(text, ids));
}

/** The ways to cut a token into two others, by the ids of the two. */
function splitsOf(text: string, ids: ReadonlyMap<string, number>): [string, string][] {
  const found: { pair: [string, string]; left: number; right: number }[] = [];
  for (let at = 1; at < text.length; at++) {
    const left = ids.get(text.slice(0, at));
    if (left === undefined) continue;
    const right = ids.get(text.slice(at));
    if (right !== undefined) found.push({ pair: [text.slice(0, at), text.slice(at)], left, right });
  }
  if (found.length > 1) found.sort((a, b) => a.left - b.left || a.right - b.right);
  return found.map(({ pair }) => pair);
}
