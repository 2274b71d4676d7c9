// The reply that a stopped stream gets.

import { z } from 'zod';

export const StoppedStream = z.strictObject({
  id: z.string(),
  object: z.literal('stream'),
  deleted: z.literal(true),
});
