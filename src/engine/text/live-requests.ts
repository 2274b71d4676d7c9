// The requests that live: by their ids, with the time they may take.

import { EngineError } from '../../files/error.ts';
import type { Sequence } from './sequence.ts';
import type { TextRequest } from './text-model.ts';

export interface LiveRequest {
  readonly id: string;
  readonly priority: number;
  /** Its choices, once the prompt is tokenized. */
  sequences: Sequence[];
  /** It was ended before it had any. */
  ended: { error?: EngineError } | null;
  /** Its timers stop, its id is free. */
  leave(): void;
}

export interface LiveRequests {
  /** Requests of which no choice has begun. */
  readonly waiting: number;
  /** Of those below a priority that have said nothing yet, the lowest that came last; undefined: there are none. */
  lowestBelow(priority: number): LiveRequest | undefined;
  /** Throws bad_request where the id is another's. */
  enter(request: TextRequest): LiveRequest;
  /** Those whose id begins so. */
  named(prefix: string): LiveRequest[];
}

export interface LiveOptions {
  /** Milliseconds. */
  queueTimeout: number | undefined;
  totalTimeout: number | undefined;
  end(request: LiveRequest, error: EngineError): void;
}

export function createLiveRequests({ queueTimeout, totalTimeout, end }: LiveOptions): LiveRequests {
  const live = new Map<string, LiveRequest>();
  const waits = ({ sequences }: LiveRequest): boolean =>
    sequences.some(({ finished }) => !finished) && sequences.every(({ slot }) => slot === null);
  const hasBegun = ({ sequences }: LiveRequest): boolean =>
    sequences.some(({ prefix }) => prefix.found !== null);

  return {
    get waiting() {
      return [...live.values()].filter(waits).length;
    },
    lowestBelow(priority) {
      const below = [...live.values()].filter(
        (request) => waits(request) && !hasBegun(request) && request.priority < priority,
      );
      const lowest = Math.min(...below.map((request) => request.priority));
      return below.findLast((request) => request.priority === lowest);
    },
    enter({ id = crypto.randomUUID(), priority = 0, timeouts }) {
      if (live.has(id)) {
        throw new EngineError(
          'bad_request',
          `the request id ${JSON.stringify(id)} is in use: choose another, or wait until that request has ended`,
          { param: 'id' },
        );
      }
      const timers: ReturnType<typeof setTimeout>[] = [];
      const request: LiveRequest = {
        id,
        priority,
        sequences: [],
        ended: null,
        leave() {
          timers.forEach(clearTimeout);
          if (live.get(id) === request) live.delete(id);
        },
      };
      const { queue = queueTimeout, total = totalTimeout } = timeouts ?? {};
      if (queue !== undefined)
        timers.push(setTimeout(() => hasBegun(request) || end(request, waitedTooLong(queue)), queue));
      if (total !== undefined) timers.push(setTimeout(() => end(request, tookTooLong(total)), total));
      live.set(id, request);
      return request;
    },
    named: (prefix) => [...live.values()].filter(({ id }) => id.startsWith(prefix)),
  };
}

function waitedTooLong(ms: number): EngineError {
  return new EngineError(
    'timed_out',
    `the request waited ${ms} ms for a place, the most it may: try again later, or raise --queue-timeout`,
  );
}

function tookTooLong(ms: number): EngineError {
  return new EngineError(
    'timed_out',
    `the request took ${ms} ms, the most it may: ask for fewer tokens, or raise --request-timeout`,
  );
}
