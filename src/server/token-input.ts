// A text, a list of token ids, or a list of either: what embeddings and text completions are made of.

import { z } from 'zod';

export type TokenInput = string | number[];

const id = z.int().min(0);
const entry = z.union([z.string().min(1), id, z.array(id).min(1)]);

/** At most so many texts; ids of one text may be more. All entries are of one kind. */
export const tokenInputs = (most: number) =>
  z.union([
    z.string().min(1),
    z
      .array(entry)
      .min(1)
      .superRefine((list, context) => {
        const kind = typeof list[0];
        const other = list.findIndex((one) => typeof one !== kind);
        if (other > 0) {
          const message =
            'is of another kind than those before it; send texts, token ids, or lists of token ids';
          context.addIssue({ code: 'custom', path: [other], message, params: { code: 'invalid_type' } });
        } else if (kind !== 'number' && list.length > most) {
          context.addIssue({ code: 'custom', message: `must have at most ${most} entries` });
        }
      }),
  ]);

export type TokenInputs = z.infer<ReturnType<typeof tokenInputs>>;

/** Whether it is one text, not a list. */
export const isOneInput = (input: TokenInputs): boolean =>
  typeof input === 'string' || typeof input[0] === 'number';

export function listInputs(input: TokenInputs): TokenInput[] {
  if (typeof input === 'string') return [input];
  return typeof input[0] === 'number' ? [input as number[]] : (input as TokenInput[]);
}
