// Text to ids: added tokens are cut out of the text as it was given, what lies between them is normalized, the added tokens that are
// written in normalized text are cut out of that, and the rest is cut into pieces, which the model encodes.

import { createAddedSplitter, type SplitToken } from './added-splitter.ts';
import { createModel } from './model.ts';
import { createNormalizer } from './normalizer.ts';
import { createPostProcessor, type TypedIds } from './post-processor.ts';
import { createPreTokenizer } from './pre-tokenizer.ts';
import type { TokenModel } from './vocabulary.ts';
import type { AddedToken } from './special-tokens.ts';
import { finishPair, finishText } from './truncation.ts';

export interface TextEncoding {
  model: TokenModel;
  /** `most`: the tokens that are kept. */
  encode(text: string, addSpecialTokens: boolean, most: number): number[];
  encodePair(first: string, second: string, most: number): TypedIds;
  tokenToId(token: string): number | null;
}

const MOST_CACHED = 20_000;
const LONGEST_CACHED = 64;

/** Caches the tokens of short pieces, most of which are words. */
function cached(model: TokenModel): TokenModel['encode'] {
  const known = new Map<string, readonly number[]>();
  return (piece, into) => {
    if (piece.length > LONGEST_CACHED) return model.encode(piece, into);
    let ids = known.get(piece);
    if (ids === undefined) {
      const made: number[] = [];
      model.encode(piece, made);
      if (known.size >= MOST_CACHED) known.clear();
      known.set(piece, made);
      ids = made;
    }
    for (const id of ids) into.push(id);
  };
}

/** Throws plain errors that say what is wrong with the file. */
export function createEncoder(json: Record<string, unknown>, added: readonly AddedToken[]): TextEncoding {
  const normalize = createNormalizer(json['normalizer']);
  const cut = createPreTokenizer(json['pre_tokenizer']);
  const model = createModel(json['model']);
  const encodePiece = cached(model);
  const addedIds = new Map(added.map(({ content, id }) => [content, id]));
  const tokenToId = (token: string): number | null => addedIds.get(token) ?? model.ids.get(token) ?? null;
  let highest = -1;
  for (const ids of [model.ids, addedIds]) for (const id of ids.values()) highest = Math.max(highest, id);
  const finish = createPostProcessor(json['post_processor'], { idOf: tokenToId, highest });
  const isNormalized = ({ normalized, special }: AddedToken): boolean =>
    normalize !== null && (typeof normalized === 'boolean' ? normalized : !special);
  const splitGiven = createAddedSplitter(added.filter((token) => !isNormalized(token)).map(splitToken));
  const splitNormalized = createAddedSplitter(
    added
      .filter(isNormalized)
      .map((token) => ({ ...splitToken(token), content: normalize?.(token.content) ?? token.content })),
  );
  const idsOf = (given: string): number[] => {
    const ids: number[] = [];
    // A lone surrogate is not a character.
    const text = given.replace(/\p{Surrogate}/gu, '\ufffd');
    splitGiven(text).forEach((part, nth) => {
      if (typeof part === 'number') return void ids.push(part);
      splitNormalized(normalize === null ? part : normalize(part)).forEach((inner, place) => {
        if (typeof inner === 'number') return void ids.push(inner);
        const pieces = cut === null ? [inner] : cut(inner, nth === 0 && place === 0);
        for (const piece of pieces) encodePiece(piece, ids);
      });
    });
    return ids;
  };
  return {
    model,
    tokenToId,
    encode: (text, addSpecialTokens, most) => finishText(idsOf(text), addSpecialTokens ? finish : null, most),
    encodePair: (first, second, most) => finishPair(idsOf(first), idsOf(second), finish, most),
  };
}

function splitToken(token: AddedToken): SplitToken {
  return {
    id: token.id,
    content: token.content,
    singleWord: token['single_word'] === true,
    takesSpaceBefore: token['lstrip'] === true,
    takesSpaceAfter: token['rstrip'] === true,
  };
}
