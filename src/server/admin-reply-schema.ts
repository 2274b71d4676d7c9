// Replies to who runs the server.

import { z } from 'zod';
import { count, named } from './reply-schema.ts';

export const flushReply = named('Flushed', z.strictObject({ flushed: z.literal(true) }));

export const abortReply = named('Aborted', z.strictObject({ aborted: count.describe('How many requests.') }));

export const adaptersReply = named(
  'LoadedAdapters',
  z.strictObject({
    success: z.literal(true),
    loaded_adapters: z.record(z.string(), z.string()).describe('Folders by the names of their adapters.'),
  }),
);
