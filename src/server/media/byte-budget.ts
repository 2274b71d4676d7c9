// The bytes that all media of one request may have together.

import type { MediaSource } from './media-source.ts';
import { mediaOption } from '../../options/names.ts';

export class ByteBudget {
  readonly most: number;
  #used = 0;

  constructor(most: number) {
    this.most = most;
  }

  /** Counts bytes that have arrived. Throws RequestError if they are too many. */
  take(bytes: number, source: MediaSource): void {
    this.check(bytes, source);
    this.#used += bytes;
  }

  /** Throws RequestError if so many further bytes would be too many. */
  check(bytes: number, source: MediaSource): void {
    if (this.#used + bytes <= this.most) return;
    throw source.error(
      `brings the media of this request above the limit of ${this.most} bytes together (${mediaOption('maxMediaBytes')}); send smaller or fewer ones`,
      'request_too_large',
    );
  }
}
