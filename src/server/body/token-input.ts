// Schema of a text, a list of token ids, or a list of either: the input of embeddings and text completions.

import { z } from 'zod';
import { list, MOST_IDS, tokenId } from './bounded.ts';

export type TokenInput = string | number[];

const text = z.string().min(1);
const ids = list(tokenId, MOST_IDS).min(1);

/** `most`: limit on the texts or lists of ids. All entries are of one kind. */
export const tokenInputs = (most: number) =>
  z.union([text, ids, list(text, most).min(1), list(ids, most).min(1)]);

export type TokenInputs = z.infer<ReturnType<typeof tokenInputs>>;

/** Whether the input is one text, not a list of texts. */
export const isOneInput = (input: TokenInputs): boolean =>
  typeof input === 'string' || typeof input[0] === 'number';

export function listInputs(input: TokenInputs): TokenInput[] {
  if (typeof input === 'string') return [input];
  return typeof input[0] === 'number' ? [input as number[]] : (input as TokenInput[]);
}
