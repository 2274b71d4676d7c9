// The parts of a reply: those that a stream has still to send, in order, by choice. While the reader is behind, adjacent parts of the
// same kind are merged, so that fewer chunks are sent and nothing is lost or reordered. And calls as whole parts.

import type { TextEvent, TokenLogprob } from '../../index.ts';
import { isObject } from '../body/fields.ts';

export type Events = AsyncGenerator<TextEvent, void, void>;

interface Carried {
  ids: number[];
  logprobs: TokenLogprob[];
}

export type ReplyPart = Carried &
  (
    | { kind: 'content'; text: string }
    | { kind: 'reasoning'; text: string }
    /** A tool call begins. */
    | { kind: 'call'; call: number; id: string; name: string }
    | { kind: 'arguments'; call: number; text: string }
  );

export type Generated = Extract<TextEvent, { type: 'delta' | 'reasoning' | 'toolCall' }>;

/** Returns true for events that carry a part of the answer. */
export function isGenerated(event: TextEvent): event is Generated {
  return event.type === 'delta' || event.type === 'reasoning' || event.type === 'toolCall';
}

export function createPendingParts() {
  const queues = new Map<number, ReplyPart[]>();
  return {
    add(event: Generated): void {
      const parts = queues.get(event.choice) ?? [];
      queues.set(event.choice, parts);
      for (const part of partsOf(event)) {
        const last = parts.at(-1);
        if (!last || !join(last, part)) parts.push(part);
      }
    },
    /** Removes and returns all queued parts. */
    take(): [choice: number, part: ReplyPart][] {
      const taken = [...queues].flatMap(([choice, parts]) =>
        parts.map((part): [number, ReplyPart] => [choice, part]),
      );
      queues.clear();
      return taken;
    },
  };
}

/** Converts an event to parts; the event's tokens are attached to its last part. */
export function partsOf(event: Generated): ReplyPart[] {
  const carried = { ids: [...event.ids], logprobs: [...(event.logprobs ?? [])] };
  if (event.type !== 'toolCall')
    return [{ kind: event.type === 'delta' ? 'content' : 'reasoning', text: event.text, ...carried }];
  const { call, id, name, arguments: text } = event;
  if (id === undefined || name === undefined) return [{ kind: 'arguments', call, text, ...carried }];
  const begin = { kind: 'call' as const, call, id, name };
  if (text === '') return [{ ...begin, ...carried }];
  return [
    { ...begin, ids: [], logprobs: [] },
    { kind: 'arguments', call, text, ...carried },
  ];
}

/** Appends `next` to `last`; returns false if their kinds cannot be merged. */
function join(last: ReplyPart, next: ReplyPart): boolean {
  if (last.kind === 'call' || next.kind === 'call' || last.kind !== next.kind) return false;
  if (last.kind === 'arguments' && next.kind === 'arguments' && last.call !== next.call) return false;
  last.text += next.text;
  last.ids.push(...next.ids);
  last.logprobs.push(...next.logprobs);
  return true;
}

type CallEvent = Extract<TextEvent, { type: 'toolCall' }>;

/**
 * Passes on each call when it is complete. A call whose arguments are not a JSON object becomes text, because no client can execute it:
 * the reply was cut within it, or the model wrote something else. Only for replies that are sent whole; a stream has already sent the
 * beginning.
 */
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
