// Formats errors and notes of the engine with the names of command-line options.

import { EngineError } from '../../files/error.ts';
import { type Names, textOf } from '../../files/message.ts';
import type { OpenEvent } from '../../index.ts';
import { modelOption, textOption } from '../../options/names.ts';

/** Names of model options and of text request fields as command-line options. */
const TYPED: Names = { option: modelOption, field: textOption, isCommandLine: true };

export function errorText(error: unknown, names: Names = TYPED): string {
  if (error instanceof EngineError) return error.textWith(names);
  return error instanceof Error ? error.message : String(error);
}

type Note = Extract<OpenEvent, { type: 'note' }>;

export function noteText({ message, parts }: Note, names: Names = TYPED): string {
  return textOf(parts ? { parts } : message, names);
}
