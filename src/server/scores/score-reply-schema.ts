// Schemas of the replies of the routes that judge texts.

import { z } from 'zod';
import { count, seconds } from '../http/reply-members.ts';

const usage = z.strictObject({ prompt_tokens: count, total_tokens: count });
const listOf = <T extends z.ZodType>(entry: T) => ({
  id: z.string(),
  object: z.literal('list'),
  created: seconds,
  model: z.string(),
  data: z.array(entry),
  usage,
});
const score = z.number().describe('The higher, the better the text fits.');

export const Reranked = z.union([
  z.strictObject({
    id: z.string(),
    model: z.string(),
    results: z
      .array(
        z.strictObject({
          index: count.describe('Of the document in the request.'),
          relevance_score: score,
          document: z.strictObject({ text: z.string() }).optional(),
        }),
      )
      .describe('The best first.'),
    usage,
  }),
  z
    .array(z.strictObject({ index: count, score, text: z.string().optional() }))
    .describe('Of a request with `texts`.'),
]);

export const Scores = z.strictObject(
  listOf(z.strictObject({ index: count, object: z.literal('score'), score })),
);

export const Classes = z.strictObject(
  listOf(
    z.strictObject({
      index: count,
      label: z.string().describe('The label with the highest score.'),
      probs: z.array(z.number()).describe("Scores in the order of the model's labels."),
      num_classes: count,
    }),
  ),
);

const row = z.array(z.number());

export const Pooled = z.strictObject(
  listOf(
    z.strictObject({
      index: count,
      object: z.literal('pooling'),
      data: z
        .union([row, z.array(row), z.string()])
        .describe('A vector or scores; of a model that labels tokens a list for each; or base64.'),
    }),
  ),
);
