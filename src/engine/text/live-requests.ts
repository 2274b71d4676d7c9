// The requests that live: by their ids, with the time they may take.

import { EngineError } from '../../files/error.ts';
import { overloaded } from '../session/wait-queue.ts';
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
  /**
   * Throws overloaded where so many wait that one more finds no place, not even that of one below it which has said nothing yet:
   * of those the lowest that came last is given back to be ended. null: there is room.
   */
  placeFor(request: TextRequest, most: number): LiveRequest | null;
  /** Throws bad_request where the id is another's. */
  enter(request: TextRequest): LiveRequest;
  /** Those whose id begins so; "all": all of them. */
  named(prefix: string): LiveRequest[];
}

export interface LiveOptions {
  /** Milliseconds. */
  queueTimeout: number | undefined;
  totalTimeout: number | undefined;
  end(request: LiveRequest, error: EngineError): void;
  /** Left out: a request waits while none of its choices has a slot. */
  waits?: (request: LiveRequest) => boolean;
}

export function createLiveRequests({
  queueTimeout,
  totalTimeout,
  end,
  waits = hasNoSlot,
}: LiveOptions): LiveRequests {
  const live = new Map<string, LiveRequest>();
  const countWaiting = (): number => [...live.values()].filter(waits).length;
  const hasBegun = ({ sequences }: LiveRequest): boolean =>
    sequences.some(({ placement }) => placement.prefix.found !== null);

  return {
    get waiting() {
      return countWaiting();
    },
    placeFor({ priority = 0 }, most) {
      const waiting = countWaiting();
      if (waiting < most) return null;
      const below = [...live.values()].filter(
        (request) => waits(request) && !hasBegun(request) && request.priority < priority,
      );
      const lowest = Math.min(...below.map((request) => request.priority));
      const last = below.findLast((request) => request.priority === lowest);
      if (last === undefined) throw overloaded(waiting);
      return last;
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
      const { queue = queueTimeout, total = totalTimeout, waited = 0 } = timeouts ?? {};
      const after = (milliseconds: number, act: () => void): void =>
        void timers.push(setTimeout(act, milliseconds - waited));
      if (queue !== undefined)
        after(queue, () => void (hasBegun(request) || end(request, waitedTooLong(queue))));
      if (total !== undefined) after(total, () => end(request, tookTooLong(total)));
      live.set(id, request);
      return request;
    },
    named: (prefix) => [...live.values()].filter(({ id }) => prefix === 'all' || id.startsWith(prefix)),
  };
}

function hasNoSlot({ sequences }: LiveRequest): boolean {
  return (
    sequences.some(({ finished }) => !finished) && sequences.every(({ placement }) => placement.slot === null)
  );
}

export function gaveWay(): EngineError {
  return new EngineError(
    'preempted',
    'the request gave its place in the queue to one of a higher priority: try again later, or raise its own',
  );
}

function waitedTooLong(ms: number): EngineError {
  return new EngineError(
    'timed_out',
    `the request waited ${ms} ms for a place, the most it may: try again later, or raise \`queueTimeout\``,
  );
}

function tookTooLong(ms: number): EngineError {
  return new EngineError(
    'timed_out',
    `the request took ${ms} ms, the most it may: ask for fewer tokens, or raise \`totalTimeout\``,
  );
}
