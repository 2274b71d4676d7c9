// Queue of an image model: one request has its turn, with those that wait and may be drawn together with it; others wait in order of arrival, up
// to a limit. A request that is aborted while it waits leaves the queue at once.

import { EngineError } from '../../index.ts';
import { countText } from '../../files/count-text.ts';

/** What a request may be drawn together with. */
export interface Joining {
  /** Requests of equal keys may be. */
  key: string;
  /** Most results of all requests that are drawn together. */
  most: number;
  /** Results of this one. */
  samples: number;
}

export interface Turn {
  /** Number of requests that are before it now; 0: its turn has begun. */
  readonly ahead: number;
  /** Called with `ahead` when it has moved up in the queue. */
  onMove: ((ahead: number) => void) | null;
  /** Resolves when the turn begins; rejects with `cancelled` if the signal aborts before. */
  readonly begun: Promise<void>;
  /** Lets the turn begin with that of a request before it, as far as there is room. */
  mayJoin(joining: Joining): void;
  /** Lets the next request begin. Must be called exactly once, whether or not the turn has begun. */
  end(): void;
}

export type Turns = ReturnType<typeof createTurns>;

interface Place {
  hasBegun: boolean;
  joining: Joining | null;
  begin(): void;
  moved(ahead: number): void;
}

export function createTurns(mostWaiting: number) {
  /** Requests that have their turn, and those that wait. */
  const line: Place[] = [];

  const begin = (place: Place): void => {
    place.hasBegun = true;
    place.begin();
  };
  const advance = (): void => {
    const [first] = line;
    if (!first || line.some(({ hasBegun }) => hasBegun)) return;
    begin(first);
    for (const other of joined(first, line)) begin(other);
  };
  const aheadOf = (place: Place): number => {
    const at = line.indexOf(place);
    return place.hasBegun ? 0 : line.filter((other, i) => other.hasBegun || i < at).length;
  };

  return {
    /** Requests that have their turn, and those that wait for it. */
    get load(): { running: number; waiting: number } {
      const running = line.filter(({ hasBegun }) => hasBegun).length;
      return { running, waiting: line.length - running };
    },
    /** Joins the queue. Throws `overloaded` if too many requests wait. */
    enter(signal: AbortSignal): Turn {
      const waiting = line.filter(({ hasBegun }) => !hasBegun).length;
      if (waiting >= mostWaiting && line.length > 0) {
        throw new EngineError(
          'overloaded',
          `${countText(waiting, 'request')} ${waiting === 1 ? 'waits' : 'wait'} for this model already, as many as --max-queued-requests allows; try again later`,
        );
      }
      const place: Place = {
        hasBegun: false,
        joining: null,
        begin() {},
        moved: (ahead) => turn.onMove?.(ahead),
      };
      line.push(place);
      const leave = () => {
        const at = line.indexOf(place);
        if (at < 0) return;
        const before = line.map(aheadOf);
        line.splice(at, 1);
        before.splice(at, 1);
        advance();
        for (const [i, other] of line.entries())
          if (aheadOf(other) !== before[i]) other.moved(aheadOf(other));
      };
      const begun = new Promise<void>((resolve, reject) => {
        const give = () => {
          leave();
          reject(new EngineError('cancelled', 'the request was cancelled before its turn came'));
        };
        place.begin = () => {
          signal.removeEventListener('abort', give);
          resolve();
        };
        signal.addEventListener('abort', give, { once: true });
        if (signal.aborted) give();
        else advance();
      });
      begun.catch(() => {}); // a caller may end its turn without awaiting `begun`
      const turn: Turn = {
        get ahead() {
          return aheadOf(place);
        },
        onMove: null,
        begun,
        mayJoin: (joining) => (place.joining = joining),
        end: leave,
      };
      return turn;
    },
  };
}

/** Those of the line that may have their turn with the first one, in order of arrival. */
function joined(first: Place, line: readonly Place[]): Place[] {
  const own = first.joining;
  if (!own) return [];
  let room = own.most - own.samples;
  return line.filter(({ hasBegun, joining }) => {
    if (hasBegun || joining?.key !== own.key || joining.samples > room) return false;
    room -= joining.samples;
    return true;
  });
}
