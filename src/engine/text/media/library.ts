// The media of conversations, decoded and prepared. Equal media of recent requests are prepared once.

import { EngineError } from '../../../files/error.ts';
import { say, subject } from '../../../files/message.ts';
import type { MediaDecoders } from '../../../files/media/decoders.ts';
import { checkGiven, coloursOf } from '../../../files/media/given.ts';
import type { MediaBounds } from '../../../files/media/media.ts';
import type { ChatRendering } from '../../../files/template/template.ts';
import { LruCache } from '../../../grammar/lru-cache.ts';
import type {
  MediaKind,
  MediaModel,
  MediaReaders,
  PreparedMedium,
  TileLimits,
} from '../../../models/media.ts';
import type { ChatMessage, ContentPart } from '../text-request.ts';
import { mediumKey } from './medium-key.ts';
import type { Medium } from './medium.ts';

/** Bytes of the prepared media that are kept. */
const KEPT_BYTES = 2 ** 28;

const KINDS: readonly string[] = ['image', 'video', 'audio'] satisfies MediaKind[];

/** Whether a part of a message is a medium, whatever models take. */
export function isMedium(part: ContentPart): part is ContentPart & { type: MediaKind } {
  return KINDS.includes(part.type);
}

/** The media of some messages, by their parts. */
export type MediaByPart = ReadonlyMap<ContentPart, Medium>;

export class MediaLibrary {
  readonly model: MediaModel;
  readonly #decoders: MediaDecoders;
  readonly #bounds: MediaBounds;
  readonly #known = new LruCache<string, Medium>({ maxSize: KEPT_BYTES, sizeOf: bytesOf });
  /** Media that are being prepared, by key. */
  readonly #pending = new Map<string, Promise<Medium>>();

  constructor(model: MediaModel, decoders: MediaDecoders, bounds: MediaBounds) {
    this.model = model;
    this.#bounds = bounds;
    this.#decoders = decoders;
  }

  get kinds(): MediaKind[] {
    return (['image', 'video', 'audio'] as const).filter((kind) => this.model.readers[kind]);
  }

  /** Text that the template prints for a medium, by kind. */
  get placeholders(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.kinds.map((kind) => [kind, this.model.readers[kind]!.placeholder]));
  }

  /** How templates show media. */
  get shown(): Pick<ChatRendering, 'media' | 'mediaFirst'> {
    return { media: this.placeholders, mediaFirst: this.model.mediaFirst ?? false };
  }

  /** Reads the media of messages. Limits of a part take the place of those of the request. Errors: bad_request, unsupported, cancelled. */
  async read(
    messages: readonly ChatMessage[],
    limits: TileLimits,
    signal: AbortSignal | undefined,
  ): Promise<MediaByPart> {
    const media = new Map<ContentPart, Medium>();
    this.#checkTiles(limits, null);
    for (const [at, { content }] of messages.entries()) {
      if (!Array.isArray(content)) continue;
      for (const [i, part] of content.entries()) {
        if (!isMedium(part)) continue;
        if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled before it began');
        media.set(part, await this.#medium(part, tileLimits(part, limits), `messages.${at}.content.${i}`));
      }
    }
    return media;
  }

  /** Throws bad_request for limits on tiles where no reader makes any. */
  #checkTiles({ minTiles, maxTiles }: TileLimits, path: string | null): void {
    if (this.model.readers.image?.tiles) return;
    const name = minTiles !== undefined ? 'minTiles' : maxTiles !== undefined ? 'maxTiles' : null;
    if (name !== null) throw uselessTiles(path === null ? name : `${path}.${name}`);
  }

  async #medium(part: ContentPart & { type: MediaKind }, limits: TileLimits, path: string): Promise<Medium> {
    const kind = part.type;
    this.#checkTiles(part, path);
    if (!this.model.readers[kind])
      throw new EngineError(
        'unsupported',
        `${path} is a part of type ${kind}, and this model takes ${this.kinds.join(' and ')} beside text: leave it out`,
        { param: path },
      );
    const given = part[kind];
    if (given === undefined)
      throw new EngineError('bad_request', `${path}.${kind} is missing: give the bytes of a file there`, {
        param: `${path}.${kind}`,
      });
    checkGiven(kind, given, `${path}.${kind}`, this.#bounds);
    const key = await mediumKey(kind, given, limits);
    const known = this.#known.get(key) ?? this.#pending.get(key);
    if (known) return known;
    const prepared = this.#prepare(part, limits, path)
      .then((made): Medium => ({ kind, key, prepared: made }))
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, prepared);
    const medium = await prepared;
    this.#known.set(key, medium);
    return medium;
  }

  async #prepare(
    part: ContentPart & { type: MediaKind },
    limits: TileLimits,
    path: string,
  ): Promise<PreparedMedium> {
    const name = `${path}.${part.type}`;
    try {
      return await this.#decodeAndPrepare(part, limits, name);
    } catch (cause) {
      if (!(cause instanceof EngineError) || cause.code !== 'bad_request' || cause.param?.startsWith(path))
        throw cause;
      throw new EngineError('bad_request', say`${subject(name)}: ${cause}`, { param: name, cause });
    }
  }

  async #decodeAndPrepare(
    { type, image, video, audio }: ContentPart,
    limits: TileLimits,
    name: string,
  ): Promise<PreparedMedium> {
    const { readers } = this.model;
    const bounds = this.#bounds;
    if (type === 'image') {
      const { alpha } = readers.image!;
      const pixels =
        image instanceof Uint8Array
          ? await this.#decoders.image(image, name, { bounds, alpha })
          : coloursOf(image!, alpha);
      return readers.image!.prepare(pixels, limits);
    }
    if (type === 'video') {
      const { frames, fit } = readers.video!;
      const reading = { bounds, frames, ...(fit && { fit }) };
      const clip = video instanceof Uint8Array ? await this.#decoders.video(video, name, reading) : video!;
      return readers.video!.prepare(clip, limits);
    }
    const { rate } = readers.audio!;
    const sound =
      audio instanceof Uint8Array ? await this.#decoders.audio(audio, name, { bounds, rate }) : audio!;
    if (sound.rate !== rate)
      throw new EngineError(
        'bad_request',
        `${name} has ${sound.rate} samples a second and this model takes ${rate}: resample it, or send the file`,
        { param: name },
      );
    return readers.audio!.prepare(sound, limits);
  }
}

/** The error of limits on tiles for a model that does not divide images. */
export function uselessTiles(param: string): EngineError {
  return new EngineError(
    'bad_request',
    `${param} has no effect on this model, which takes no limits on tiles: leave it out`,
    {
      param,
    },
  );
}

function tileLimits(part: ContentPart, request: TileLimits): TileLimits {
  const minTiles = part.minTiles ?? request.minTiles;
  const maxTiles = part.maxTiles ?? request.maxTiles;
  return { ...(minTiles !== undefined && { minTiles }), ...(maxTiles !== undefined && { maxTiles }) };
}

function bytesOf({ prepared: { inputs } }: Medium): number {
  return Object.values(inputs).reduce((sum, { data }) => sum + data.byteLength, 0);
}

/** The media that messages show, in order. */
export function mediaOf(messages: readonly ChatMessage[], media: MediaByPart): Medium[] {
  return messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.flatMap((part) => media.get(part) ?? []) : [],
  );
}

/** The messages as a template sees them: of a medium its kind, and the key that some templates look for, or its placeholder as text. */
export function withoutBytes(
  messages: readonly ChatMessage[],
  { video }: Pick<MediaReaders, 'video'>,
): ChatMessage[] {
  const shown = (part: ContentPart): ContentPart => {
    if (!isMedium(part)) return part;
    if (part.type === 'video' && video?.isShownAsText) return { type: 'text', text: video.placeholder };
    return part.type === 'audio' ? { type: 'audio', audio: EMPTY } : { type: part.type };
  };
  return messages.map((message) =>
    Array.isArray(message.content) && message.content.some(isMedium)
      ? { ...message, content: message.content.map(shown) }
      : message,
  );
}

const EMPTY = new Uint8Array(0);
