// A medium as a request names it, before it is read. Converted messages hold it in the place of the bytes.

import { RequestError, type RequestErrorCode } from '../errors.ts';
import type { ErrorCode } from '../../files/error.ts';
import type { MediaKind } from '../../index.ts';

/** Names of the kinds in messages. */
export const MEDIA_PLURALS: Readonly<Record<MediaKind, string>> = {
  image: 'images',
  video: 'videos',
  audio: 'sounds',
};

export class MediaSource {
  readonly kind: MediaKind;
  /** An http:, https:, data: or file: URL, or base64 by itself. */
  readonly address: { url: string } | { base64: string };
  /** Path of the field in the request that holds the address, for errors. */
  readonly field: string;

  constructor(kind: MediaKind, address: MediaSource['address'], field: string) {
    this.kind = kind;
    this.address = address;
    this.field = field;
  }

  /** An error about the address. */
  error(text: string, code: RequestErrorCode | ErrorCode = 'invalid_value'): RequestError {
    return new RequestError(code, `${this.field} ${text}`, { param: this.field });
  }
}
