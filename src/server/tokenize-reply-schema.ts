// Token ids of texts, and texts of token ids.

import { z } from 'zod';
import { count, named } from './reply-schema.ts';

const most = { max_model_len: count };

export const tokenizeReply = named(
  'Tokens',
  z.union([
    z.strictObject({ tokens: z.array(count), count, ...most }),
    z
      .strictObject({ tokens: z.array(z.array(count)), count: z.array(count), ...most })
      .describe('Of a list of texts.'),
  ]),
);

export const detokenizeReply = named(
  'Detokenized',
  z.strictObject({
    text: z.union([z.string(), z.array(z.string())]).describe('A list where ids are nested.'),
  }),
);
