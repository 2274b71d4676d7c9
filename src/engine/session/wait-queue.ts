// Who waits for a model that is being opened again: as many as could wait for one that is open, and no longer.

import { countText } from '../../files/count-text.ts';
import { EngineError } from '../../files/error.ts';

export interface Lobby {
  /** Throws where the request is wrong, or finds no room. */
  enter(request: never): Place;
}

export interface Place {
  /** Settles where the wait is over before the model is open: the events that the request hears instead, or why it failed. */
  readonly ended: Promise<readonly unknown[]>;
  /** To be called once: it waits no more. The request as the open model is to have it. */
  leave(): unknown;
}

/** So many at once, as long as it takes. */
export function plainLobby(most: number): Lobby {
  let waiting = 0;
  return {
    enter(request) {
      if (waiting >= most) throw overloaded(waiting - 1);
      waiting++;
      const leave = (): unknown => (waiting--, request);
      return { ended: new Promise(() => {}), leave };
    },
  };
}

/** `waiting`: requests that wait. */
export function overloaded(waiting: number): EngineError {
  return new EngineError(
    'overloaded',
    `${countText(waiting, 'request')} ${waiting === 1 ? 'waits' : 'wait'} already, the most that \`maxQueuedRequests\` allows: try again later`,
  );
}
