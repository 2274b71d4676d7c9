// Schemas of the replies of routes that manage models, and of the events of their changes.

import { z } from 'zod';
import { ModelStatus } from '../service/model-reply-schema.ts';

export const ManagedModel = z.strictObject({
  success: z.literal(true),
  model: z.string(),
  status: ModelStatus,
});

export const DeletedModel = z.strictObject({
  success: z.literal(true),
  id: z.string(),
  object: z.literal('model'),
  deleted: z.literal(true),
});

export const ModelChange = z.strictObject({
  model: z.string(),
  status: ModelStatus,
  removed: z.literal(true).optional().describe('It is no longer listed.'),
});
