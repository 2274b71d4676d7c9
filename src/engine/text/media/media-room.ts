// The room that the media of a request have: tokens of the context, and memory for what their processors made of them.

import { badRequest, EngineError } from '../../../files/error.ts';
import { cancelled, onAbort } from '../../async/abort-listeners.ts';
import { bytesOf, rowsOf, type Medium } from '../towers/medium.ts';

/** Bytes that the prepared media of all requests may take. One request may take half of them. */
const MOST_HELD_BYTES = 2 ** 32;

/**
 * The prepared media of all running and waiting requests, bounded in bytes. Equal media are counted once, until the last request that has
 * them ends.
 */
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

/** Bytes of a request's prepared media. */
const MOST_BYTES = MOST_HELD_BYTES / 2;

export class MediaRoom {
  /** Tokens that the context holds with the reply. */
  readonly context: number;
  #rows = 0;
  #bytes = 0;
  readonly #held = new Set<string>();
  readonly #all: HeldMedia;
  readonly #ended: AbortSignal | undefined;

  /** `all`: the media of all requests, among which this request's are counted until `ended` aborts; without `ended` they are not counted there. */
  constructor(context: number, all = new HeldMedia(), ended?: AbortSignal) {
    this.context = context;
    this.#all = all;
    this.#ended = ended;
  }

  /** Throws context_length_exceeded for a medium of which the context cannot hold so many tokens. */
  readonly plan = (rows: number): void => {
    if (rows >= this.context) throw tooLong(rows, this.context);
  };

  /** Counts a medium that is shown. Throws context_length_exceeded, bad_request for more bytes than a request may take, overloaded and cancelled. */
  take(medium: Medium, param: string): void {
    this.#rows += rowsOf(medium);
    if (this.#rows >= this.context) throw tooLong(this.#rows, this.context);
    if (this.#held.has(medium.key)) return;
    this.#held.add(medium.key);
    this.#bytes += bytesOf(medium);
    if (this.#bytes > MOST_BYTES) throw tooLarge(this.#bytes, param);
    if (this.#ended) this.#all.hold(medium, this.#ended, param);
  }
}

function tooLarge(bytes: number, param: string): EngineError {
  const [taken, most] = [bytes, MOST_BYTES].map((count) => Math.ceil(count / 2 ** 20));
  return badRequest(
    `${param} makes the prepared media of the request take ${taken} MiB, above the limit of ${most}: send fewer or smaller ones`,
    param,
  );
}

function tooLong(rows: number, context: number): EngineError {
  return new EngineError(
    'context_length_exceeded',
    // The wording of Anthropic's API, as for other prompts.
    `the prompt is too long: ${rows} tokens > ${context - 1}, which the context holds with the reply, and media alone take them: send fewer or smaller media`,
    { param: 'messages' },
  );
}
