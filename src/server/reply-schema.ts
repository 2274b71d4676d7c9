// What replies are made of. A schema with a name stands under it in /openapi.json, and the tests hold every reply that they get against
// its route's schema. The server itself runs none of them.

import { z } from 'zod';

/** Those with a name. */
export const REPLIES = z.registry<{ id: string }>();

export function named<T extends z.ZodType>(id: string, schema: T): T {
  REPLIES.add(schema, { id });
  return schema;
}

export const count = z.int().min(0);
/** Seconds since 1970. */
export const seconds = count.describe('Seconds since 1970.');

const error = z.strictObject({
  message: z.string().describe('What is wrong, the value, and what to do.'),
  type: z.string(),
  param: z.string().nullable().describe('The field it is about.'),
  code: z.string(),
});

export const errorReply = named(
  'Error',
  z
    .looseObject({ error })
    .describe('Where a reply was cut short, what was said until then stands beside it.'),
);

/** In a stream. */
export const errorEvent = named('ErrorEvent', z.strictObject({ error }));

export const namedErrorEvent = named('NamedErrorEvent', z.strictObject({ type: z.literal('error'), error }));

export const anthropicError = named(
  'AnthropicError',
  z.strictObject({
    type: z.literal('error'),
    error: z.strictObject({ type: z.string(), message: z.string() }),
    request_id: z.string().nullable().optional().describe('Of a reply, not of an event.'),
  }),
);

export const ollamaError = named(
  'OllamaError',
  z.strictObject({ error: z.string().describe('What is wrong, the value, and what to do.') }),
);
