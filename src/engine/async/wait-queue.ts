// The queue of requests to a sleeping model that is being opened again. It is as long as the queue of an open model.

import { option, say } from '../../files/message.ts';
import { countText } from '../../files/count-text.ts';
import { EngineError } from '../../files/error.ts';

export interface WaitQueue {
  /** Throws if the request is invalid or the queue is full. */
  enter(request: never): QueueEntry;
}

export interface QueueEntry {
  /**
   * Settles if the wait ends before the model is open: resolves with the events that replace the model's, or rejects with the
   * reason.
   */
  readonly ended: Promise<readonly unknown[]>;
  /** Ends the wait; must be called once. Returns the request to pass to the open model. */
  leave(): unknown;
}

/** A queue of at most `most` requests without a time limit. */
export class BoundedWaitQueue implements WaitQueue {
  readonly #most: number;
  #waiting = 0;

  constructor(most: number) {
    this.#most = most;
  }

  enter(request: never): QueueEntry {
    if (this.#waiting >= this.#most) throw overloaded(this.#waiting - 1);
    this.#waiting++;
    return {
      ended: new Promise(() => {}),
      leave: () => {
        this.#waiting--;
        return request;
      },
    };
  }
}

/** `waiting`: number of requests that wait. */
export function overloaded(waiting: number): EngineError {
  return new EngineError(
    'overloaded',
    say`${countText(waiting, 'request')} ${waiting === 1 ? 'waits' : 'wait'} already, the most that ${option('maxQueuedRequests')} allows: try again later`,
  );
}
