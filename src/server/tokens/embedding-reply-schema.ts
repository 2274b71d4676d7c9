// Schemas of the replies of /v1/embeddings.

import { z } from 'zod';
import { count } from '../reply-members.ts';

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
