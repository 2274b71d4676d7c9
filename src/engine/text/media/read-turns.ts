// The media of a conversation that may lose its oldest turns: those of turns that cannot stay are not prepared.

import { EngineError } from '../../../files/error.ts';
import type { TileLimits } from '../../../models/media.ts';
import { turnStarts } from '../request/fitting.ts';
import type { ChatMessage } from '../calls/text-request.ts';
import type { MediaByPart, MediaLibrary } from './library.ts';

export interface ReadTurns {
  /** The conversation without the turns whose media do not fit. */
  messages: readonly ChatMessage[];
  media: MediaByPart;
}

/** Reads the media of leading system messages and of as many of the last turns as have room, at least of the last one. Errors: those of `MediaLibrary.read`. */
export async function readLastTurns(
  library: MediaLibrary,
  messages: readonly ChatMessage[],
  { limits, context, signal }: { limits: TileLimits; context: number; signal: AbortSignal | undefined },
): Promise<ReadTurns> {
  const room = library.room(context, signal);
  const starts = turnStarts(messages);
  const leading = messages.slice(0, starts[0]);
  let media = new Map(await library.read(leading, limits, signal, { room }));
  let begin = messages.length;
  for (const from of starts.toReversed()) {
    try {
      const turn = messages.slice(from, begin);
      media = new Map([...media, ...(await library.read(turn, limits, signal, { room, from }))]);
    } catch (error) {
      const isLast = begin === messages.length;
      if (isLast || !(error instanceof EngineError) || error.code !== 'context_length_exceeded') throw error;
      break;
    }
    begin = from;
  }
  return { messages: [...leading, ...messages.slice(begin)], media };
}
