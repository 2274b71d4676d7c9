// Shortens a conversation that is too long for the context by its oldest turns. A turn extends to the next user message, so that no
// tool result is left without its call; leading system messages stay.

import type { ChatMessage } from '../calls/text-model.ts';

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
export function turnStarts(messages: readonly ChatMessage[]): number[] {
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  return messages.flatMap(({ role }, at) => (at === first || (at > first && role === 'user') ? [at] : []));
}
