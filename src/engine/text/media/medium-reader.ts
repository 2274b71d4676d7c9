// Decodes a medium, and prepares it as its model takes it.

import { badRequest, EngineError } from '../../../files/error.ts';
import { say, subject } from '../../../files/message.ts';
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
import type { MediumPart } from '../calls/text-request.ts';
import { decodeWithin, workInTurns } from './decode-turns.ts';

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
      return workInTurns(work, signal, (rows) => {
        if (typeof rows === 'number') plan(rows);
      });
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
    return timed(readers.audio!.prepare(sound, limits), sound.samples.length / sound.rate);
  }
}

function* timed(work: Preparation, seconds: number): Preparation {
  return { ...(yield* work), seconds };
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
