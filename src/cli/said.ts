// Errors and notes of the engine as texts for somebody who types options.

import { type Names, textOf } from '../files/message.ts';
import { EngineError, type OpenEvent } from '../index.ts';
import { modelOption, textOption } from '../options/names.ts';

/** Options and fields of requests for text, as they are typed. */
const TYPED: Names = { option: modelOption, field: textOption };

export function errorText(error: unknown, names: Names = TYPED): string {
  if (error instanceof EngineError) return error.textWith(names);
  return error instanceof Error ? error.message : String(error);
}

type Note = Extract<OpenEvent, { type: 'note' }>;

export function noteText({ message, parts }: Note, names: Names = TYPED): string {
  return textOf(parts ? { parts } : message, names);
}
