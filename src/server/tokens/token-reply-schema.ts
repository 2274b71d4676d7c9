// Schemas of the replies of /v1/embeddings, /tokenize and /detokenize.

import { z } from 'zod';
import { count } from '../http/reply-members.ts';

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

export const Embeddings = z.strictObject({
  object: z.literal('list'),
  data: z.array(
    z.strictObject({
      object: z.literal('embedding'),
      index: count,
      embedding: z
        .union([z.array(z.number()), z.string()])
        .describe('As text: little-endian 32-bit floats in base64.'),
    }),
  ),
  model: z.string(),
  usage: z.strictObject({ prompt_tokens: count, total_tokens: count }),
});
