// The bytes that all media of one request may have together, and those of all requests that the server has not answered yet.

import type { MediaSource } from './media-source.ts';
import { mediaOption } from '../../options/names.ts';

/** The most media that all requests hold together, in multiples of what one of them may have. */
const MOST_SHARES = 4;

/** The bytes of media that all requests of a server hold. */
export class HeldBytes {
  used = 0;
}

export class ByteBudget {
  readonly most: number;
  readonly #held: HeldBytes;
  #used = 0;
  #isReleased = false;

  /** `held`: shared by all requests. */
  constructor(most: number, held = new HeldBytes()) {
    this.most = most;
    this.#held = held;
  }

  /** Counts bytes that have arrived. Throws RequestError if they are too many. */
  take(bytes: number, source: MediaSource): void {
    this.check(bytes, source);
    // A read that ends after the request has nobody who keeps its bytes.
    if (this.#isReleased) return;
    this.#used += bytes;
    this.#held.used += bytes;
  }

  /** Throws RequestError if so many further bytes would be too many. */
  check(bytes: number, source: MediaSource): void {
    if (this.#used + bytes > this.most)
      throw source.error(
        `brings the media of this request above the limit of ${this.most} bytes together (${mediaOption('maxMediaBytes')}); send smaller or fewer ones`,
        'request_too_large',
      );
    const mostHeld = MOST_SHARES * this.most;
    if (this.#held.used + bytes <= mostHeld) return;
    throw source.error(
      `brings the media of all requests above the limit of ${mostHeld} bytes together (${MOST_SHARES} times ${mediaOption('maxMediaBytes')}); send the request again once others have ended`,
      'overloaded',
    );
  }

  /** Gives the bytes back: the request does not hold them any more. */
  release(): void {
    this.#held.used -= this.#used;
    this.#used = 0;
    this.#isReleased = true;
  }
}
