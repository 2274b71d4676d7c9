// Turns calls whose arguments are not a JSON object into text, because no client can execute them: the reply was cut within them,
// or the model wrote something else. Only for replies that are sent whole; a stream has already sent the beginning.

import type { TextEvent } from '../../index.ts';
import { isObject } from '../body/fields.ts';
import type { Events, Generated } from './reply-parts.ts';

type CallEvent = Extract<TextEvent, { type: 'toolCall' }>;

/** Passes on each call when it is complete. */
export async function* wholeCalls(events: Events): Events {
  /** The events of the open call of each choice. */
  const open = new Map<number, CallEvent[]>();
  const settled = (choice: number): Generated[] => {
    const call = open.get(choice);
    open.delete(choice);
    return call ? callOrText(call) : [];
  };
  try {
    for await (const event of events) {
      if (event.type === 'toolCall' && event.name === undefined) open.get(event.choice)?.push(event);
      else {
        if ('choice' in event) yield* settled(event.choice);
        if (event.type === 'toolCall') open.set(event.choice, [event]);
        else yield event;
      }
    }
  } catch (error) {
    for (const choice of open.keys()) yield* settled(choice);
    throw error;
  }
}

function callOrText(call: CallEvent[]): Generated[] {
  const given = call.map((event) => event.arguments).join('');
  if (canBeMade(given)) return call;
  const [first] = call;
  const begun: Generated = {
    type: 'delta',
    choice: first!.choice,
    text: `{"name": ${JSON.stringify(first!.name)}, "arguments": `,
    ids: [],
  };
  return [
    begun,
    ...call.map(({ choice, arguments: text, ids, logprobs }): Generated => {
      return { type: 'delta', choice, text, ids, ...(logprobs && { logprobs }) };
    }),
  ];
}

/** Returns true if the text is a JSON object, as the arguments of a call must be. */
export function canBeMade(given: string): boolean {
  try {
    return isObject(JSON.parse(given));
  } catch {
    return false;
  }
}
