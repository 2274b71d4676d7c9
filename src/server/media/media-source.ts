// A medium as a request names it, before it is read. Converted messages hold it in the place of the bytes.

import type { MediaKind } from '../../index.ts';
import { RequestError, type RequestErrorCode } from '../http/errors.ts';
import type { ErrorCode } from '../../files/error.ts';

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
    return new RequestError(code, `${this.field} ${text}`, { param: this.field });
  }
}
