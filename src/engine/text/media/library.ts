// The media of conversations, decoded and prepared. Equal media of recent requests are prepared once.

import { EngineError } from '../../../files/error.ts';
import { say, subject } from '../../../files/message.ts';
import type { MediaDecoders } from '../../../files/media/decoders.ts';
import { takenText } from '../../../files/media-nouns.ts';
import { checkGiven, coloursOf } from '../../../files/media/given.ts';
import type { MediaBounds } from '../../../files/media/media.ts';
import { resampleSound } from '../../../files/media/sound-reader.ts';
import type { ChatRendering, ChatTemplate } from '../../../files/template/template.ts';
import type {
  MediaKind,
  MediaModel,
  MediaReaders,
  PreparedMedium,
  TileLimits,
} from '../../../models/media.ts';
import type { ChatMessage, ContentPart } from '../text-request.ts';
import { cancelled, decodeWithin } from './decode-within.ts';
import { MediumCache } from './medium-cache.ts';
import { mediumKey } from './medium-key.ts';
import type { Medium } from './medium.ts';

const KINDS: readonly MediaKind[] = ['image', 'video', 'audio'];

/** Whether a part of a message is a medium, whatever models take. */
export function isMedium(part: ContentPart): part is ContentPart & { type: MediaKind } {
  return KINDS.some((kind) => kind === part.type);
}

/** The media of some messages, by their parts. */
export type MediaByPart = ReadonlyMap<ContentPart, Medium>;

export class MediaLibrary {
  readonly model: MediaModel;
  readonly #decoders: MediaDecoders;
  readonly #bounds: MediaBounds;
  readonly #media = new MediumCache();
  /** Kinds that conversations with the model may hold: the towers read them, and the chat template prints them. */
  readonly kinds: readonly MediaKind[];

  constructor(
    model: MediaModel,
    template: Pick<ChatTemplate, 'problem' | 'render'>,
    decoders: MediaDecoders,
    bounds: MediaBounds,
  ) {
    this.model = model;
    this.#bounds = bounds;
    this.#decoders = decoders;
    this.kinds = KINDS.filter((kind) => model.readers[kind] && this.#isPrinted(kind, template));
  }

  /** How templates show media. */
  get shown(): Pick<ChatRendering, 'media' | 'mediaFirst'> {
    const { readers, mediaFirst = false } = this.model;
    const media = KINDS.flatMap((kind) => (readers[kind] ? [[kind, readers[kind].placeholder]] : []));
    return { media: Object.fromEntries(media) as Record<string, string>, mediaFirst };
  }

  /** Whether the template prints the placeholder of a medium that a message shows. */
  #isPrinted(kind: MediaKind, template: Pick<ChatTemplate, 'problem' | 'render'>): boolean {
    if (template.problem !== null) return false;
    const content: ContentPart[] = [{ type: kind }, { type: 'text', text: 'a' }];
    const { readers } = this.model;
    const others = kind === 'image' ? readers.image!.otherPlaceholders : [];
    try {
      const text = template.render({
        messages: withoutBytes([{ role: 'user', content }], readers),
        ...this.shown,
      });
      return [readers[kind]!.placeholder, ...(others ?? [])].some((one) => text.includes(one));
    } catch {
      return false;
    }
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
        if (signal?.aborted) throw cancelled();
        const path = `messages.${at}.content.${i}`;
        media.set(part, await this.#medium(part, tileLimits(part, limits), path, signal));
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

  async #medium(
    part: ContentPart & { type: MediaKind },
    limits: TileLimits,
    path: string,
    signal: AbortSignal | undefined,
  ): Promise<Medium> {
    const kind = part.type;
    this.#checkTiles(part, path);
    if (!this.kinds.includes(kind)) throw untaken(path, kind, this.kinds);
    const given = part[kind];
    if (given === undefined)
      throw new EngineError('bad_request', `${path}.${kind} is missing: give the bytes of a file there`, {
        param: `${path}.${kind}`,
      });
    checkGiven(kind, given, `${path}.${kind}`, this.#bounds);
    const key = await mediumKey(kind, given, limits);
    return this.#media.get(key, signal, async (abandoned) => {
      const prepared = await this.#prepare(part, limits, path, abandoned);
      return { kind, key, prepared };
    });
  }

  async #prepare(
    part: ContentPart & { type: MediaKind },
    limits: TileLimits,
    path: string,
    abandoned: AbortSignal,
  ): Promise<PreparedMedium> {
    const name = `${path}.${part.type}`;
    try {
      return await decodeWithin(name, this.#bounds, abandoned, (signal) =>
        this.#decodeAndPrepare(part, limits, name, signal),
      );
    } catch (cause) {
      if (!(cause instanceof EngineError) || cause.code !== 'bad_request' || cause.param?.startsWith(path))
        throw cause;
      const param = tileParam(cause, part, path) ?? name;
      throw new EngineError('bad_request', say`${subject(name)}: ${cause}`, { param, cause });
    }
  }

  async #decodeAndPrepare(
    { type, image, video, audio }: ContentPart,
    limits: TileLimits,
    name: string,
    signal: AbortSignal,
  ): Promise<PreparedMedium> {
    const { readers } = this.model;
    const bounds = this.#bounds;
    if (type === 'image') {
      const { alpha } = readers.image!;
      const pixels =
        image instanceof Uint8Array
          ? await this.#decoders.image(image, name, { bounds, alpha, signal })
          : coloursOf(image!, alpha);
      signal.throwIfAborted();
      return readers.image!.prepare(pixels, limits);
    }
    if (type === 'video') {
      const { frames, fit } = readers.video!;
      const reading = { bounds, frames, ...(fit && { fit }), signal };
      const clip = video instanceof Uint8Array ? await this.#decoders.video(video, name, reading) : video!;
      signal.throwIfAborted();
      return readers.video!.prepare(clip, limits);
    }
    const { rate } = readers.audio!;
    const sound =
      audio instanceof Uint8Array
        ? await this.#decoders.audio(audio, name, { bounds, rate, signal })
        : await resampleSound(audio!, { rate, signal });
    signal.throwIfAborted();
    return readers.audio!.prepare(sound, limits);
  }
}

function untaken(path: string, kind: MediaKind, kinds: readonly MediaKind[]): EngineError {
  return new EngineError(
    'unsupported',
    `${path} is a part of type ${kind}, and this model takes ${takenText(kinds)} only: leave it out`,
    { param: path },
  );
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

/** The parameter with the limit on tiles that an error is about: the part's own, or the request's; null: it is about the medium. */
function tileParam({ param }: EngineError, part: ContentPart, path: string): string | null {
  if (param !== 'minTiles' && param !== 'maxTiles') return null;
  return part[param] === undefined ? param : `${path}.${param}`;
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
