// What the parsers of one tool call share.

import type { Tool } from '../calls/text-model.ts';
import type { PartCollector } from './part-collector.ts';
import { match, type Marker, type Parse, type Reader } from './reader.ts';

export interface CallContext {
  reader: Reader;
  marker: (text: string) => Marker;
  tools: readonly Tool[];
  /** Their names: no other name makes a call. */
  names: readonly Marker[];
  parts: PartCollector;
  /** Markers that end a call which has no closing tag. */
  ends: readonly Marker[];
  /** Marker that begins each call; null without one. */
  opener: Marker | null;
  namesAreIds: boolean;
  /** Whether a call without a marker may begin after other text. */
  anywhere: boolean;
}

/** Reads the name of a tool, whatever characters it has; null: none of the tools' names is here. */
export function* toolName({ reader, names }: CallContext): Parse<string | null> {
  return (yield* match(reader, names))?.text ?? null;
}
