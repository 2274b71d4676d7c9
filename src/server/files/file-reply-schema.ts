// Files as replies show them, and what is kept of them.

import { z } from 'zod';
import { count, pageSchema, seconds } from '../http/reply-members.ts';

const shown = {
  id: z.string().regex(/^file-[\da-f-]{36}$/),
  bytes: count,
  created_at: seconds,
  expires_at: seconds.optional().describe('When it is deleted; left out: not before it is asked for.'),
  filename: z.string(),
  purpose: z.string(),
};

/** What is kept of a file beside its content. `owner`: name of the key that it was sent with, '' without one. */
export const fileRecord = z.object({ ...shown, owner: z.string() });

/** What replies show of it. */
export const shownFile = z.object(shown);

export type FileRecord = z.infer<typeof fileRecord>;

export const StoredFile = z.strictObject({
  ...shown,
  object: z.literal('file'),
  status: z.literal('processed'),
});

export const StoredFileList = pageSchema(StoredFile);

export const DeletedFile = z.strictObject({
  id: z.string(),
  object: z.literal('file'),
  deleted: z.literal(true),
});
