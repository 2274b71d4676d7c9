// Decoders of media files, which Node and a page bring.

import type { Pixels } from '../image/pixels.ts';
import type { Clip, Sound } from './decoded.ts';
import type { AlphaRule, FrameChoice, MediaBounds } from './media.ts';

/** Each takes a file's bytes and the name of the parameter that held them, for messages. Errors: bad_request, unsupported, and the signal's reason. */
export interface MediaDecoders {
  image(
    bytes: Uint8Array,
    name: string,
    reading: { bounds: MediaBounds; alpha: AlphaRule; signal?: AbortSignal },
  ): Promise<Pixels>;
  video(
    bytes: Uint8Array,
    name: string,
    reading: FrameChoice & { bounds: MediaBounds; signal?: AbortSignal },
  ): Promise<Clip>;
  /** `rate`: samples per second of the result. */
  audio(
    bytes: Uint8Array,
    name: string,
    reading: { bounds: MediaBounds; rate: number; signal?: AbortSignal },
  ): Promise<Sound>;
}
