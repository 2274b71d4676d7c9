// Splits a text at added tokens: the longest token at the leftmost position is cut out, together with adjacent space if it asks for
// that (lstrip, rstrip), and only if no letter or digit is adjacent, if it asks for that (single_word).

import { PairTable } from './pair-table.ts';

export interface SplitToken {
  id: number;
  content: string;
  singleWord: boolean;
  takesSpaceBefore: boolean;
  takesSpaceAfter: boolean;
}

/** A text between added tokens, or the id of one. */
export type SplitPart = string | number;

const isWord = (character: string | undefined): boolean =>
  character !== undefined && /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u.test(character);
const isSpace = (character: string): boolean => /\p{White_Space}/u.test(character);

/** Parts in their order, none of them empty. */
export function createAddedSplitter(tokens: readonly SplitToken[]): (text: string) => SplitPart[] {
  if (tokens.length === 0) return (text) => (text === '' ? [] : [text]);
  const children = new PairTable(tokens.length * 8);
  const endsAt: (SplitToken | null)[] = [null];
  for (const token of tokens) {
    let node = 0;
    for (let at = 0; at < token.content.length; at++) {
      const unit = token.content.charCodeAt(at);
      let child = children.get(node, unit);
      if (child < 0) {
        child = endsAt.push(null) - 1;
        children.set(node, unit, child);
      }
      node = child;
    }
    if (node !== 0) endsAt[node] = token;
  }
  const longestAt = (text: string, from: number): SplitToken | null => {
    let found: SplitToken | null = null;
    let node = 0;
    for (let at = from; at < text.length; at++) {
      node = children.get(node, text.charCodeAt(at));
      if (node < 0) break;
      found = endsAt[node] ?? found;
    }
    return found;
  };
  return (text) => {
    const parts: SplitPart[] = [];
    let settled = 0;
    for (let at = 0; at < text.length;) {
      const token = longestAt(text, at);
      if (token === null) {
        at++;
        continue;
      }
      let [from, to] = [at, at + token.content.length];
      at = to;
      if (token.singleWord && (isWord(before(text, from)) || isWord(after(text, to)))) continue;
      while (token.takesSpaceBefore && from > settled && isSpace(text[from - 1]!)) from--;
      while (token.takesSpaceAfter && to < text.length && isSpace(text[to]!)) to++;
      if (from > settled) parts.push(text.slice(settled, from));
      parts.push(token.id);
      settled = to;
      at = Math.max(at, to);
    }
    if (settled < text.length) parts.push(text.slice(settled));
    return parts;
  };
}

function before(text: string, at: number): string | undefined {
  if (at === 0) return undefined;
  const unit = text.charCodeAt(at - 1);
  return unit >= 0xdc00 && unit <= 0xdfff && at > 1 ? text.slice(at - 2, at) : text[at - 1];
}

function after(text: string, at: number): string | undefined {
  const code = text.codePointAt(at);
  return code === undefined ? undefined : String.fromCodePoint(code);
}
