// Queue of an image model: it runs one request at a time, and others wait in order of arrival, up to a limit. A request that is
// aborted while it waits leaves the queue at once.

import { EngineError } from '../../index.ts';
import { countText } from '../../files/count-text.ts';

export interface Turn {
  /** Number of requests that are before it now. */
  readonly ahead: number;
  /** Called with `ahead` when a request before it has left the queue. */
  onMove: ((ahead: number) => void) | null;
  /** Resolves when the turn begins; rejects with `cancelled` if the signal aborts before. */
  readonly begun: Promise<void>;
  /** Lets the next request begin. Must be called exactly once, whether or not the turn has begun. */
  end(): void;
}

export type Turns = ReturnType<typeof createTurns>;

export function createTurns(mostWaiting: number) {
  /** The first entry has its turn; the next begins when the first leaves. */
  const line: { begin(): void; moved(ahead: number): void }[] = [];

  return {
    /** Joins the queue. Throws `overloaded` if too many requests wait. */
    enter(signal: AbortSignal): Turn {
      if (line.length > mostWaiting) {
        throw new EngineError(
          'overloaded',
          `${countText(line.length - 1, 'request')} ${line.length === 2 ? 'waits' : 'wait'} for this model already, as many as --max-queued-requests allows; try again later`,
        );
      }
      const place = { begin() {}, moved: (ahead: number) => turn.onMove?.(ahead) };
      const isFirst = line.length === 0;
      line.push(place);
      const leave = () => {
        const at = line.indexOf(place);
        if (at < 0) return;
        line.splice(at, 1);
        if (at === 0) line[0]?.begin();
        for (const [ahead, other] of line.entries()) if (ahead >= at) other.moved(ahead);
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
        else if (isFirst) place.begin();
      });
      begun.catch(() => {}); // a caller may end its turn without awaiting `begun`
      const turn: Turn = {
        get ahead() {
          return Math.max(0, line.indexOf(place));
        },
        onMove: null,
        begun,
        end: leave,
      };
      return turn;
    },
  };
}
