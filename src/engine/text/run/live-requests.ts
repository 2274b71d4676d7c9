// The live requests of a model, from their arrival to their last event: their ids, their time limits, and their places in the queue.

import { field, option, say } from '../../../files/message.ts';
import { badRequest, EngineError } from '../../../files/error.ts';
import { overloaded } from '../../async/wait-queue.ts';
import type { Sequence } from './sequence.ts';
import type { TextRequest } from '../calls/text-model.ts';

export interface LiveOptions {
  /** Milliseconds that a request may wait, and milliseconds that it may take in total; undefined: unlimited. */
  queueTimeout: number | undefined;
  totalTimeout: number | undefined;
  /** Ends a request whose time is over. */
  end(request: LiveRequest, error: EngineError): void;
  /** Returns true if a request still waits. Default: it waits while none of its choices has a slot. */
  waits?: (request: LiveRequest) => boolean;
}

export class LiveRequest {
  readonly id: string;
  readonly priority: number;
  /** Sequences of the request, one for each choice; empty until the prompt is tokenized. */
  sequences: Sequence[] = [];
  /** Set once the request is ended by an abort, a time-out, a displacement or its reader; `error`: the cause, if it was not the reader. */
  ended: { error?: EngineError } | null = null;
  /** Aborts when the request ends, with its error. */
  readonly abort = new AbortController();
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  readonly #onLeave: (request: LiveRequest) => void;

  constructor(id: string, priority: number, onLeave: (request: LiveRequest) => void) {
    this.id = id;
    this.priority = priority;
    this.#onLeave = onLeave;
  }

  /** Whether any choice has ever been admitted. */
  get hasBegun(): boolean {
    return this.sequences.some(({ placement }) => placement.prefix.found !== null);
  }

  /** Calls `act` after so many milliseconds, unless the request has left by then. */
  after(milliseconds: number, act: () => void): void {
    this.#timers.push(setTimeout(act, milliseconds));
  }

  /** Stops the timers and frees the id. */
  leave(): void {
    this.#timers.forEach(clearTimeout);
    this.#onLeave(this);
  }
}

export class LiveRequests {
  readonly #options: LiveOptions;
  readonly #waits: (request: LiveRequest) => boolean;
  /** Live requests by id, in the order of arrival. */
  readonly #live = new Map<string, LiveRequest>();

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#waits = options.waits ?? hasNoSlot;
  }

  /** Number of requests that wait. */
  get waiting(): number {
    return [...this.#live.values()].filter(this.#waits).length;
  }

  /**
   * Makes room for one more waiting request, if at most `most` may wait. If the queue is full, returns the request to displace: of
   * those that have not begun, the last arrival of the lowest priority below the new one's. Returns null if there is room. Throws
   * overloaded if no request can be displaced.
   */
  placeFor({ priority = 0 }: TextRequest, most: number): LiveRequest | null {
    const { waiting } = this;
    if (waiting < most) return null;
    const below = [...this.#live.values()].filter(
      (request) => this.#waits(request) && !request.hasBegun && request.priority < priority,
    );
    const lowest = Math.min(...below.map((request) => request.priority));
    const last = below.findLast((request) => request.priority === lowest);
    if (last === undefined) throw overloaded(waiting);
    return last;
  }

  /** Adds a request and starts its timers. Throws bad_request if its id is in use. */
  enter({ id = crypto.randomUUID(), priority = 0, timeouts }: TextRequest): LiveRequest {
    if (this.#live.has(id)) {
      throw badRequest(
        `the request id ${JSON.stringify(id)} is in use: choose another, or wait until that request has ended`,
        'id',
      );
    }
    const { queueTimeout, totalTimeout, end } = this.#options;
    const request = new LiveRequest(id, priority, (left) => this.#remove(left));
    const { queue = queueTimeout, total = totalTimeout, waited = 0 } = timeouts ?? {};
    if (queue !== undefined)
      request.after(queue - waited, () => {
        if (!request.hasBegun) end(request, waitedTooLong(queue, timeouts?.queue !== undefined));
      });
    if (total !== undefined)
      request.after(total - waited, () => end(request, tookTooLong(total, timeouts?.total !== undefined)));
    this.#live.set(id, request);
    return request;
  }

  /** Returns the requests whose ids begin with `prefix`; "all" returns every request. */
  named(prefix: string): LiveRequest[] {
    return [...this.#live.values()].filter(({ id }) => prefix === 'all' || id.startsWith(prefix));
  }

  #remove(request: LiveRequest): void {
    if (this.#live.get(request.id) === request) this.#live.delete(request.id);
  }
}

function hasNoSlot({ sequences }: LiveRequest): boolean {
  return (
    sequences.some(({ finished }) => !finished) && sequences.every(({ placement }) => placement.slot === null)
  );
}

/** The error of a request that was displaced from a full queue. */
export function gaveWay(): EngineError {
  return new EngineError(
    'preempted',
    'the request gave its place in the queue to one of a higher priority: try again later, or raise its own',
  );
}

/** `ofRequest`: the limit comes from the request itself, not from the model's options. */
function waitedTooLong(ms: number, ofRequest: boolean): EngineError {
  return new EngineError(
    'timed_out',
    say`the request waited ${ms} ms for a place, the most it may: try again later, or raise ${ofRequest ? field('timeouts.queue') : option('queueTimeout')}`,
  );
}

function tookTooLong(ms: number, ofRequest: boolean): EngineError {
  return new EngineError(
    'timed_out',
    say`the request took ${ms} ms, the most it may: ask for fewer tokens, or raise ${ofRequest ? field('timeouts.total') : option('totalTimeout')}`,
  );
}
