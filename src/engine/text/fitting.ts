// A conversation that is too long for the context, without its oldest turns: each goes with all that was said until the next
// message of the user, so that no tool's result is left without its call. What leads it (the system's message) stays.

import type { ChatMessage } from './text-model.ts';

/** The longest rest that fits, as `render` has it; the last turn alone where not even that does. */
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

/** Where turns begin: after what leads them, and at each message of the user from then on. */
function turnStarts(messages: readonly ChatMessage[]): number[] {
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  return messages.flatMap(({ role }, at) => (at === first || (at > first && role === 'user') ? [at] : []));
}
