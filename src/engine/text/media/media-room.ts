// The room that the media of a request have: tokens of the context, and memory for what their processors made of them.

import { EngineError } from '../../../files/error.ts';
import { rowsOf, type Medium } from './medium.ts';

/** Bytes of a request's prepared media. */
const MOST_BYTES = 2 ** 31;

export class MediaRoom {
  /** Tokens that the context holds with the reply. */
  readonly context: number;
  #rows = 0;
  #bytes = 0;
  readonly #held = new Set<string>();

  constructor(context: number) {
    this.context = context;
  }

  /** Throws context_length_exceeded for a medium of which the context cannot hold so many tokens. */
  readonly plan = (rows: number): void => {
    if (rows >= this.context) throw tooLong(rows, this.context);
  };

  /** Counts a medium that is shown. Throws context_length_exceeded, and bad_request for more bytes than a request may take. */
  take(medium: Medium, param: string): void {
    this.#rows += rowsOf(medium);
    if (this.#rows >= this.context) throw tooLong(this.#rows, this.context);
    if (this.#held.has(medium.key)) return;
    this.#held.add(medium.key);
    this.#bytes += bytesOf(medium);
    if (this.#bytes <= MOST_BYTES) return;
    const [taken, most] = [this.#bytes, MOST_BYTES].map((bytes) => Math.ceil(bytes / 2 ** 20));
    throw new EngineError(
      'bad_request',
      `${param} makes the prepared media of the request take ${taken} MiB, above the limit of ${most}: send fewer or smaller ones`,
      { param },
    );
  }
}

function tooLong(rows: number, context: number): EngineError {
  return new EngineError(
    'context_length_exceeded',
    // The wording of Anthropic's API, as for other prompts.
    `the prompt is too long: ${rows} tokens > ${context - 1}, which the context holds with the reply, and media alone take them: send fewer or smaller media`,
    { param: 'messages' },
  );
}

/** Bytes of what a processor made. */
export function bytesOf({ prepared: { inputs } }: Medium): number {
  return Object.values(inputs).reduce((sum, { data }) => sum + data.byteLength, 0);
}
