// Batches as replies show them, and what is kept of them.

import { z } from 'zod';
import { count, pageSchema, seconds } from '../http/reply-members.ts';

const STATUSES = [
  'validating',
  'failed',
  'in_progress',
  'finalizing',
  'completed',
  'expired',
  'cancelling',
  'cancelled',
] as const;

const at = seconds.nullable();

const shown = {
  id: z.string().regex(/^batch_[\da-f-]{36}$/),
  endpoint: z.string(),
  errors: z
    .strictObject({
      object: z.literal('list'),
      data: z.array(
        z.strictObject({
          code: z.string(),
          message: z.string(),
          param: z.string().nullable(),
          line: count.nullable().describe('Line of the input, from 1.'),
        }),
      ),
    })
    .nullable(),
  input_file_id: z.string(),
  completion_window: z.string(),
  status: z.enum(STATUSES),
  output_file_id: z.string().nullable(),
  error_file_id: z.string().nullable(),
  created_at: seconds,
  in_progress_at: at,
  expires_at: seconds,
  finalizing_at: at,
  completed_at: at,
  failed_at: at,
  expired_at: at,
  cancelling_at: at,
  cancelled_at: at,
  request_counts: z.strictObject({ total: count, completed: count, failed: count }),
  usage: z.strictObject({ input_tokens: count, output_tokens: count, total_tokens: count }),
  metadata: z.record(z.string(), z.string()).nullable(),
};

/** What is kept of a batch. `owner`: name of the key that started it, '' without one. */
export const batchRecord = z.object({ ...shown, owner: z.string() });

/** What replies show of it. */
export const shownBatch = z.object(shown);

export type BatchRecord = z.infer<typeof batchRecord>;
export type BatchStatus = BatchRecord['status'];

export const Batch = z.strictObject({ ...shown, object: z.literal('batch') });

export const BatchList = pageSchema(Batch);
