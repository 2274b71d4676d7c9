// Calls whose arguments are no JSON object, because the reply was cut within them or the model wrote something else: nobody can make
// such a call, so it becomes the text that it is. For replies that are not told as they come: a stream has sent what there is of it.

import type { TextEvent } from '../../index.ts';
import { isObject } from '../body/fields.ts';
import type { Events, Generated } from './reply-parts.ts';

type CallEvent = Extract<TextEvent, { type: 'toolCall' }>;

/** Tells each call once it is over. */
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

/** Whether a call may have these arguments. */
export function canBeMade(given: string): boolean {
  try {
    return isObject(JSON.parse(given));
  } catch {
    return false;
  }
}
