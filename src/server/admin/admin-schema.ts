// The fields of the routes that load and unload LoRA adapters, flush caches and abort requests.

import { z } from 'zod';
import { bodyChecker } from '../body/body.ts';
import { type FieldTable, honoured } from '../body/fields.ts';

const name = z.string().min(1);
const model = honoured(name, 'A served name; left out, every model.');

export const FLUSH_FIELDS = { model } satisfies FieldTable;

export const ABORT_FIELDS = {
  rid: honoured(name, 'Id of a request, or what several begin with.'),
  abort_all: honoured(z.boolean(), 'All requests.', false),
  model,
} satisfies FieldTable;

const own = honoured(name, 'A served name; left out, the first language model.', 'default');
const lora = honoured(name, 'The name that requests use: model:name.');

export const LOAD_FIELDS = {
  lora_name: lora,
  lora_path: honoured(name, 'Folder of the adapter, in the layout of PEFT.'),
  model: own,
} satisfies FieldTable;

export const UNLOAD_FIELDS = { lora_name: lora, model: own } satisfies FieldTable;

export const checkLoad = bodyChecker({ table: LOAD_FIELDS, required: ['lora_name', 'lora_path'] });
export const checkUnload = bodyChecker({ table: UNLOAD_FIELDS, required: ['lora_name'] });
export const checkFlush = bodyChecker({ table: FLUSH_FIELDS, required: [] });
export const checkAbort = bodyChecker({ table: ABORT_FIELDS, required: [] });
