// A medium as a request names it, before it is read, and the bytes that media may have together. Converted messages hold a medium in the
// place of its bytes.

import type { MediaKind } from '../../index.ts';
import { fieldError, type RequestError, type RequestErrorCode } from '../http/errors.ts';
import type { ErrorCode } from '../../files/error.ts';
import { mediaOption } from '../../options/names.ts';

/** First bytes of a medium, which tell its format. */
export const HEAD_BYTES = 1024;

/** Throws RequestError if a medium with these first bytes, or all that it has, is not read; its rest is not fetched then. */
export type CheckHead = (source: MediaSource, head: Uint8Array) => void;

export class MediaSource {
  /** null: a file, whose bytes tell its kind. */
  readonly kind: MediaKind | null;
  /** An http:, https:, data: or file: URL. */
  readonly url: string;
  /** Path of the field in the request that holds the URL, for errors. */
  readonly field: string;
  /** The format that the request declares; null: none. */
  readonly format: string | null;

  constructor(kind: MediaKind | null, url: string, field: string, format: string | null = null) {
    this.kind = kind;
    this.url = url;
    this.field = field;
    this.format = format;
  }

  /** An error about this medium. */
  error(text: string, code: RequestErrorCode | ErrorCode = 'invalid_value'): RequestError {
    return fieldError(this.field, text, code);
  }
}

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
