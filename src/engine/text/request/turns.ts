// Shortens a conversation that is too long for the context by its oldest turns, whose media are not prepared. A turn extends to the next user message, so that no
// tool result is left without its call; leading system messages stay.

import { EngineError } from '../../../files/error.ts';
import type { TileLimits } from '../../../models/media.ts';
import type { ChatMessage } from '../calls/text-model.ts';
import type { MediaByPart, MediaLibrary } from '../media/library.ts';

/** Renders the conversation with as many of its last turns as fit into `mostTokens`, and at least with the last one. */
export async function fitTurns<T extends { ids: readonly number[] }>(
  messages: readonly ChatMessage[],
  mostTokens: number,
  render: (messages: ChatMessage[]) => Promise<T>,
): Promise<T> {
  const whole = await render([...messages]);
  const starts = turnStarts(messages);
  if (whole.ids.length <= mostTokens || starts.length < 2) return whole;
  const without = (turns: number): Promise<T> =>
    render([...messages.slice(0, starts[0]), ...messages.slice(starts[turns])]);
  let [fewest, most] = [1, starts.length - 1];
  let best = await without(most);
  while (fewest < most) {
    const turns = Math.floor((fewest + most) / 2);
    const rest = await without(turns);
    if (rest.ids.length > mostTokens) fewest = turns + 1;
    else [most, best] = [turns, rest];
  }
  return best;
}

/** Indices at which turns begin: the first message that is not a system message, and each user message after it. */
function turnStarts(messages: readonly ChatMessage[]): number[] {
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  return messages.flatMap(({ role }, at) => (at === first || (at > first && role === 'user') ? [at] : []));
}

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
