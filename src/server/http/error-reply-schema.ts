// Errors, in the envelope of each interface.

import { z } from 'zod';

const error = z.strictObject({
  message: z.string().describe('What is wrong, the value, and what to do.'),
  type: z.string(),
  param: z.string().nullable().describe('The field it is about.'),
  code: z.string(),
});

export const OpenAiError = z
  .looseObject({ error })
  .describe('Where a reply was cut short, what was said until then stands beside it.');

/** The error event of a stream. */
export const ErrorEvent = z.strictObject({ error });

export const NamedErrorEvent = z.strictObject({ type: z.literal('error'), error });

export const AnthropicError = z.strictObject({
  type: z.literal('error'),
  error: z.strictObject({ type: z.string(), message: z.string() }),
  request_id: z.string().nullable().optional().describe('Of a reply, not of an event.'),
});

export const OllamaError = z.strictObject({
  error: z.string().describe('What is wrong, the value, and what to do.'),
});
