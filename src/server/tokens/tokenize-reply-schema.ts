// Schemas of the replies of /tokenize and /detokenize.

import { z } from 'zod';
import { count } from '../reply-members.ts';

const most = { max_model_len: count };

export const Tokens = z.union([
  z.strictObject({ tokens: z.array(count), count, ...most }),
  z
    .strictObject({ tokens: z.array(z.array(count)), count: z.array(count), ...most })
    .describe('Of a list of texts.'),
]);

export const Detokenized = z.strictObject({
  text: z.union([z.string(), z.array(z.string())]).describe('A list where ids are nested.'),
});
