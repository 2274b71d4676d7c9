// The room that the media of a request have: tokens of the context, and memory for what their processors made of them.

import { EngineError } from '../../../files/error.ts';
import { HeldMedia, MOST_HELD_BYTES } from './held-media.ts';
import { bytesOf, rowsOf, type Medium } from '../towers/medium.ts';

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
  return new EngineError(
    'bad_request',
    `${param} makes the prepared media of the request take ${taken} MiB, above the limit of ${most}: send fewer or smaller ones`,
    { param },
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
