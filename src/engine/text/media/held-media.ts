// The prepared media of all running and waiting requests, bounded in bytes. Equal media are counted once, until the last request that has
// them ends.

import { EngineError } from '../../../files/error.ts';
import { onAbort } from '../../async/abort-listeners.ts';
import { cancelled } from './decode-within.ts';
import { bytesOf, type Medium } from '../towers/medium.ts';

/** Bytes that the prepared media of all requests may take. One request may take half of them. */
export const MOST_HELD_BYTES = 2 ** 32;

export class HeldMedia {
  readonly #most: number;
  /** Number of holders by key. */
  readonly #holders = new Map<string, number>();
  #bytes = 0;

  constructor(most = MOST_HELD_BYTES) {
    this.#most = most;
  }

  /** Bytes of the media that are counted now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Holds a medium until `ended` aborts. Throws overloaded, and cancelled if it has aborted. */
  hold(medium: Medium, ended: AbortSignal, param: string): void {
    if (ended.aborted) throw cancelled();
    const { key } = medium;
    const bytes = bytesOf(medium);
    const others = this.#holders.get(key) ?? 0;
    if (others === 0) {
      if (this.#bytes > 0 && this.#bytes + bytes > this.#most) throw tooMany(this.#bytes, this.#most, param);
      this.#bytes += bytes;
    }
    this.#holders.set(key, others + 1);
    onAbort(ended, () => {
      const left = this.#holders.get(key)! - 1;
      if (left > 0) this.#holders.set(key, left);
      else {
        this.#holders.delete(key);
        this.#bytes -= bytes;
      }
    });
  }
}

function tooMany(held: number, most: number, param: string): EngineError {
  const [taken, limit] = [held, most].map((bytes) => Math.ceil(bytes / 2 ** 20));
  return new EngineError(
    'overloaded',
    `${param} has no room beside the prepared media of other requests, which take ${taken} of ${limit} MiB: send it again later, or smaller`,
    { param },
  );
}
