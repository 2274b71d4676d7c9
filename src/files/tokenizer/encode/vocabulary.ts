// Parts that the models share: tokens by their text, and the tokens that stand for single bytes.

import { isRecord } from '../../source.ts';

export interface TokenModel {
  /** Tokens of the vocabulary, without added ones. */
  ids: ReadonlyMap<string, number>;
  /** Ends each word's last token; '' where nothing does. */
  wordSuffix: string;
  /** Appends the ids of a piece that is not empty. */
  encode(piece: string, into: number[]): void;
}

/** `vocab`: an object of a file, or a map that was made here. */
export function vocabularyOf(vocab: unknown): ReadonlyMap<string, number> {
  if (vocab instanceof Map) return vocab as ReadonlyMap<string, number>;
  if (!isRecord(vocab)) throw new Error('the model has no vocabulary');
  const ids = new Map<string, number>();
  for (const [token, id] of Object.entries(vocab)) {
    if (!Number.isSafeInteger(id) || Number(id) < 0) {
      throw new Error(`the token ${JSON.stringify(token)} has the id ${JSON.stringify(id)}`);
    }
    ids.set(token, Number(id));
  }
  return ids;
}

/** How vocabularies with byte fallback spell a byte. */
function byteToken(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
}

/** The tokens of a text's bytes; null: one of them has none. */
export function byteIds(text: string, ids: ReadonlyMap<string, number>): number[] | null {
  const found = Array.from(new TextEncoder().encode(text), (byte) => ids.get(byteToken(byte)) ?? -1);
  return found.includes(-1) ? null : found;
}
