// Schemas of the replies of administration routes.

import { z } from 'zod';
import { count } from '../http/reply-members.ts';

export const Flushed = z.strictObject({ flushed: z.literal(true) });

export const Aborted = z.strictObject({ aborted: count.describe('How many requests.') });

export const LoadedAdapters = z.strictObject({
  success: z.literal(true),
  loaded_adapters: z.record(z.string(), z.string()).describe('Folders by the names of their adapters.'),
});
