// Decodes a medium, and prepares it as its model takes it.

import { badRequest, EngineError } from '../../../files/error.ts';
import { option, say, subject } from '../../../files/message.ts';
import type { MediaDecoders } from '../../../files/media/decoders.ts';
import { coloursOf } from '../../../files/media/given.ts';
import type { Pixels } from '../../../files/image/pixels.ts';
import type { MediaBounds } from '../../../files/media/media.ts';
import { resampleSound } from '../../../files/media/sound-reader.ts';
import type {
  Clip,
  MediaReaders,
  PreparedMedium,
  TileLimits,
  VideoSource,
  Preparation,
} from '../../../models/media.ts';
import { DEFAULTS } from '../../../options/limits.ts';
import { cancelled, onAbort } from '../../async/abort-listeners.ts';
import { withResolvers } from '../../async/resolvers.ts';
import type { MediumPart } from '../calls/text-request.ts';

/** Name of a medium in errors, until it is known which request they are for (see `named`). */
const UNNAMED = 'medium';

export interface MediumReading {
  limits: TileLimits;
  /** Called with the number of rows that a medium takes, before they are computed. */
  plan: (rows: number) => void;
  /** Aborts when no request waits any more. */
  abandoned: AbortSignal;
}

export class MediumReader {
  readonly #readers: MediaReaders;
  readonly #decoders: MediaDecoders;
  readonly #bounds: MediaBounds;

  constructor(readers: MediaReaders, decoders: MediaDecoders, bounds: MediaBounds) {
    this.#readers = readers;
    this.#decoders = decoders;
    this.#bounds = bounds;
  }

  /** The part has a medium of a kind that the model reads. Errors have no name that a request knows (see `named`). */
  read(part: MediumPart, reading: MediumReading): Promise<PreparedMedium> {
    const { limits, plan, abandoned } = reading;
    return decodeWithin(UNNAMED, this.#bounds, abandoned, async (signal) => {
      const work = await this.#decode(part, limits, signal);
      signal.throwIfAborted();
      return prepareInTurns(work, plan, signal);
    });
  }

  async #decode(part: MediumPart, limits: TileLimits, signal: AbortSignal): Promise<Preparation> {
    const readers = this.#readers;
    const bounds = this.#bounds;
    if (part.type === 'image') {
      const { image } = part;
      const { alpha } = readers.image!;
      const pixels =
        image instanceof Uint8Array
          ? await this.#decoders.image(image, UNNAMED, { bounds, alpha, signal })
          : coloursOf(image, alpha);
      return readers.image!.prepare(pixels, limits);
    }
    if (part.type === 'video') {
      const { video } = part;
      const { frames, fit } = readers.video!;
      const reading = {
        bounds,
        frames,
        ...(fit && { fit: (frame: Pixels, source: VideoSource) => fit(frame, source, limits) }),
        signal,
      };
      const clip =
        video instanceof Uint8Array ? await this.#decoders.video(video, UNNAMED, reading) : ofCaller(video);
      return readers.video!.prepare(clip, limits);
    }
    const { audio } = part;
    const { rate } = readers.audio!;
    const sound =
      audio instanceof Uint8Array
        ? await this.#decoders.audio(audio, UNNAMED, { bounds, rate, signal })
        : await resampleSound(audio, { rate, signal });
    return readers.audio!.prepare(sound, limits);
  }
}

/** A clip that a caller gives is as it was filmed. */
function ofCaller({ source, indices, frames }: Clip): Clip {
  return { source, indices, frames };
}

/** An error of a reader as the request sees it that holds the medium under `name`. `param`: the field to blame; null: the medium. */
export function named(cause: unknown, name: string, param: string | null): unknown {
  if (!(cause instanceof EngineError)) return cause;
  if (cause.param === UNNAMED) return cause.underName(name);
  if (cause.code !== 'bad_request') return cause;
  return badRequest(say`${subject(name)}: ${cause}`, param ?? name, cause);
}

/**
 * Runs `decode`, whose signal aborts with `abandoned` and after the time that a medium may take. The result rejects then, even if a codec
 * goes on with its piece. `name` is the parameter that holds the medium. Throws bad_request, cancelled, and what `decode` throws.
 */
async function decodeWithin<T>(
  name: string,
  { mediaDecodeTimeout: most = DEFAULTS.mediaDecodeTimeout }: Pick<MediaBounds, 'mediaDecodeTimeout'>,
  abandoned: AbortSignal,
  decode: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const { promise: ended, reject } = withResolvers<never>();
  const end = (reason: EngineError): void => {
    abort.abort(reason);
    reject(reason);
  };
  const timer = setTimeout(() => end(late(name, most)), most);
  const stopListening = onAbort(abandoned, () => end(cancelled()));
  try {
    return await Promise.race([decode(abort.signal), ended]);
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}

function late(name: string, most: number): EngineError {
  const message = say`${subject(name)} was not decoded within ${most / 1000} seconds (${option('mediaDecodeTimeout')}); give a smaller one, or raise the limit`;
  return badRequest(message, name);
}

/** Milliseconds after which other work runs. */
const TURN = 5;

/**
 * Does the work of a processor piece by piece, so that steps of other requests are recorded in between, and a request that leaves ends it.
 * `plan` is called with the number of rows before they are computed. Throws what it throws, and the signal's
 * reason.
 */
async function prepareInTurns(
  work: Preparation,
  plan: (rows: number) => void,
  signal: AbortSignal,
): Promise<PreparedMedium> {
  let began = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (typeof value === 'number') plan(value);
    if (performance.now() - began < TURN) continue;
    await new Promise((resolve) => setTimeout(resolve));
    signal.throwIfAborted();
    began = performance.now();
  }
}
