// Models that look words up: WordPiece takes the longest matching token each time, with a prefix for those within a word; WordLevel
// has whole words only.

import { vocabularyOf, type TokenModel } from './vocabulary.ts';

export function createWordPiece(config: Record<string, unknown>): TokenModel {
  const ids = vocabularyOf(config['vocab']);
  const unknown = unknownId(config['unk_token'] ?? '[UNK]', ids);
  const prefix =
    typeof config['continuing_subword_prefix'] === 'string' ? config['continuing_subword_prefix'] : '##';
  const longest = config['max_input_chars_per_word'] ?? 100;
  if (typeof longest !== 'number' || !Number.isInteger(longest) || longest < 1)
    throw new Error(`max_input_chars_per_word is ${JSON.stringify(longest)} instead of an integer above 0`);
  /** Characters of the longest token, so that a long word takes time in proportion to its length. */
  const widest = [...ids.keys()].reduce((most, token) => Math.max(most, token.length), 0);

  /** Returns null if a part is in no token. */
  const tokensOf = (characters: readonly string[]): number[] | null => {
    const tokens: number[] = [];
    for (let from = 0; from < characters.length;) {
      let to = Math.min(characters.length, from + widest);
      let id: number | undefined;
      for (; to > from; to--) {
        id = ids.get((from > 0 ? prefix : '') + characters.slice(from, to).join(''));
        if (id !== undefined) break;
      }
      if (id === undefined) return null;
      tokens.push(id);
      from = to;
    }
    return tokens;
  };
  return {
    ids,
    wordSuffix: '',
    encode(piece, into) {
      const characters = piece.length > 2 * longest ? null : Array.from(piece);
      const tokens = characters && characters.length <= longest ? tokensOf(characters) : null;
      for (const id of tokens ?? [unknown]) into.push(id);
    },
  };
}

export function createWordLevel(config: Record<string, unknown>): TokenModel {
  const ids = vocabularyOf(config['vocab']);
  const unknown = unknownId(config['unk_token'] ?? '<unk>', ids);
  return { ids, wordSuffix: '', encode: (piece, into) => void into.push(ids.get(piece) ?? unknown) };
}

function unknownId(token: unknown, ids: ReadonlyMap<string, number>): number {
  const id = ids.get(String(token));
  if (id === undefined) throw new Error(`the vocabulary lacks the unknown token ${JSON.stringify(token)}`);
  return id;
}
