// The fields of the routes that change what is served.

import { z } from 'zod';
import { bodyChecker } from './body.ts';
import { type FieldTable, honoured } from './fields.ts';

const name = z.string().min(1);
const model = honoured(name, 'A served name; left out, every model.');

export const FLUSH_FIELDS = { model } satisfies FieldTable;

export const ABORT_FIELDS = {
  rid: honoured(name, 'Id of a request, or what several begin with.'),
  abort_all: honoured(z.boolean(), 'All requests.', false),
  model,
} satisfies FieldTable;

export const checkFlush = bodyChecker({ table: FLUSH_FIELDS, required: [] });
export const checkAbort = bodyChecker({ table: ABORT_FIELDS, required: [] });
