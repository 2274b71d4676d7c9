// The media of conversations, decoded and prepared. Equal media of recent requests are prepared once.

import { badRequest, EngineError, unsupported } from '../../../files/error.ts';
import type { MediaDecoders } from '../../../files/media/decoders.ts';
import { takenText } from '../../../files/media/media-nouns.ts';
import { checkGiven } from '../../../files/media/given.ts';
import type { MediaBounds } from '../../../files/media/media.ts';
import type { ChatRendering, ChatTemplate } from '../../../files/template/template.ts';
import type { MediaKind, MediaModel, MediaReaders, TileLimits } from '../../../models/media.ts';
import type { ChatMessage, ContentPart, MediumPart } from '../calls/text-request.ts';
import { cancelled } from '../../async/abort-listeners.ts';
import { HeldMedia, MediaRoom } from './media-room.ts';
import { MediumCache, mediumKey } from './medium-cache.ts';
import { MediumReader, named } from './medium-reader.ts';
import type { Medium } from '../towers/medium.ts';

const KINDS: readonly MediaKind[] = ['image', 'video', 'audio'];

/** Whether a part of a message is a medium, whatever models take. */
export function isMedium(part: ContentPart): part is MediumPart {
  return KINDS.some((kind) => kind === part.type);
}

/** The media of some messages, by their parts. */
export type MediaByPart = ReadonlyMap<ContentPart, Medium>;

export class MediaLibrary {
  readonly model: MediaModel;
  readonly #reader: MediumReader;
  readonly #bounds: MediaBounds;
  readonly #media = new MediumCache();
  readonly #held = new HeldMedia();
  /** Kinds that conversations with the model may hold: the towers read them, and the chat template prints them. */
  readonly kinds: readonly MediaKind[];

  constructor(model: MediaModel, template: PrintingTemplate, decoders: MediaDecoders, bounds: MediaBounds) {
    this.model = model;
    this.#bounds = bounds;
    this.#reader = new MediumReader(model.readers, decoders, bounds);
    this.kinds = printedKinds(model, template);
  }

  /** How templates show media of the kinds that conversations may hold. */
  get shown(): ShownMedia {
    return shownMedia(this.model, this.kinds);
  }

  /** Returns the room for the media of a request, which are counted among those of all requests until `ended` aborts. */
  room(context: number, ended: AbortSignal | undefined): MediaRoom {
    return new MediaRoom(context, this.#held, ended);
  }

  /**
   * Reads the media of messages, of which the first has the index `from` in its request. Limits of a part take the place of those of the
   * request. Errors: context_length_exceeded as soon as the media alone do not fit into `room`, bad_request, unsupported, overloaded, cancelled.
   */
  async read(
    messages: readonly ChatMessage[],
    limits: TileLimits,
    signal: AbortSignal | undefined,
    { room = new MediaRoom(Infinity), from = 0 }: { room?: MediaRoom; from?: number } = {},
  ): Promise<MediaByPart> {
    const media = new Map<ContentPart, Medium>();
    this.#checkTiles(limits, null);
    for (const [at, { content }] of messages.entries()) {
      if (!Array.isArray(content)) continue;
      for (const [i, part] of content.entries()) {
        if (!isMedium(part)) continue;
        if (signal?.aborted) throw cancelled();
        const path = `messages.${from + at}.content.${i}`;
        const reading = { limits: tileLimits(part, limits), path, plan: room.plan, signal };
        const medium = await this.#medium(part, reading);
        room.take(medium, path);
        media.set(part, medium);
      }
    }
    return media;
  }

  /** The media of a prompt as they are among each other. */
  together(media: readonly Medium[]): Medium[] {
    const { among } = this.model;
    if (!among) return [...media];
    const kinds = new Set(media.map(({ kind }) => kind));
    const changed = new Map<Medium, Medium>();
    for (const medium of media) {
      const prepared = among(medium.kind, medium.prepared, kinds);
      const key = prepared === medium.prepared ? medium.key : `${medium.key}+${[...kinds].sort().join('+')}`;
      if (!changed.has(medium)) changed.set(medium, { ...medium, key, prepared });
    }
    return media.map((medium) => changed.get(medium)!);
  }

  /** Throws bad_request for limits on tiles where no reader makes any. */
  #checkTiles({ minTiles, maxTiles }: TileLimits, path: string | null): void {
    if (this.model.readers.image?.tiles) return;
    const name = minTiles !== undefined ? 'minTiles' : maxTiles !== undefined ? 'maxTiles' : null;
    if (name !== null) throw uselessTiles(path === null ? name : `${path}.${name}`);
  }

  async #medium(part: MediumPart, { limits, path, plan, signal }: PartReading): Promise<Medium> {
    const kind = part.type;
    this.#checkTiles(part, path);
    if (!this.kinds.includes(kind)) throw untaken(path, kind, this.kinds);
    const given = part[kind] as Parameters<typeof mediumKey>[1] | undefined; // checkGiven checks it
    if (given === undefined)
      throw badRequest(`${path}.${kind} is missing: give the bytes of a file there`, `${path}.${kind}`);
    checkGiven(kind, given, `${path}.${kind}`, this.#bounds);
    const key = await mediumKey(kind, given, limits);
    try {
      return await this.#media.get(key, signal, async (abandoned) => {
        const prepared = await this.#reader.read(part, { limits, plan, abandoned });
        return { kind, key, prepared };
      });
    } catch (cause) {
      // Requests that wait for one medium have it under different names.
      const param = cause instanceof EngineError ? tileParam(cause, part, path) : null;
      throw named(cause, `${path}.${kind}`, param);
    }
  }
}

type ShownMedia = Pick<ChatRendering, 'media' | 'mediaFirst' | 'mediaJoined'>;
type PrintingTemplate = Pick<ChatTemplate, 'problem' | 'render'>;

function shownMedia(
  { readers, mediaFirst = false, mediaJoined = false }: MediaModel,
  kinds: readonly MediaKind[] = KINDS,
): ShownMedia {
  const media = kinds.flatMap((kind) => (readers[kind] ? [[kind, readers[kind].placeholder]] : []));
  return { media: Object.fromEntries(media) as Record<string, string>, mediaFirst, mediaJoined };
}

/** Kinds of media that the towers read and the chat template prints. */
export function printedKinds(model: MediaModel, template: PrintingTemplate): MediaKind[] {
  return KINDS.filter((kind) => model.readers[kind] && isPrinted(kind, model, template));
}

/** Whether the template prints the placeholder of a medium that a message shows. */
function isPrinted(kind: MediaKind, model: MediaModel, template: PrintingTemplate): boolean {
  if (template.problem !== null) return false;
  const { placeholder, otherPlaceholders = [] } = model.readers[kind]!;
  const isPrintedOf = (content: ContentPart[]): boolean => {
    try {
      const messages = withoutBytes([{ role: 'user', content }], model.readers);
      const text = template.render({ messages, ...shownMedia(model) });
      return [placeholder, ...otherPlaceholders].some((one) => text.includes(one));
    } catch {
      return false;
    }
  };
  const medium = placeholderOf(kind);
  return isPrintedOf([medium, { type: 'text', text: 'a' }]) || isPrintedOf([medium]);
}

interface PartReading {
  limits: TileLimits;
  path: string;
  plan: MediaRoom['plan'];
  signal: AbortSignal | undefined;
}

function untaken(path: string, kind: MediaKind, kinds: readonly MediaKind[]): EngineError {
  return unsupported(
    `${path} is a part of type ${kind}, and this model takes ${takenText(kinds)} only: leave it out`,
    path,
  );
}

/** The error of limits on tiles for a model that does not divide images. */
export function uselessTiles(param: string): EngineError {
  return badRequest(
    `${param} has no effect on this model, which takes no limits on tiles: leave it out`,
    param,
  );
}

function tileLimits(part: MediumPart, request: TileLimits): TileLimits {
  const minTiles = part.minTiles ?? request.minTiles;
  const maxTiles = part.maxTiles ?? request.maxTiles;
  return { ...(minTiles !== undefined && { minTiles }), ...(maxTiles !== undefined && { maxTiles }) };
}

/** The parameter with the limit on tiles that an error is about: the part's own, or the request's; null: it is about the medium. */
function tileParam({ param }: EngineError, part: MediumPart, path: string): string | null {
  if (param !== 'minTiles' && param !== 'maxTiles') return null;
  return part[param] === undefined ? param : `${path}.${param}`;
}

/** The media that messages show, in order. */
export function mediaOf(messages: readonly ChatMessage[], media: MediaByPart): Medium[] {
  return messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.flatMap((part) => media.get(part) ?? []) : [],
  );
}

/** A part without its medium, for a template. */
function placeholderOf(kind: MediaKind): ContentPart {
  return (kind === 'audio' ? { type: kind, audio: EMPTY } : { type: kind }) as ContentPart;
}

/** The messages as a template sees them: of a medium its kind, and the key that some templates look for, or its placeholder as text. */
export function withoutBytes(
  messages: readonly ChatMessage[],
  { video }: Pick<MediaReaders, 'video'>,
): ChatMessage[] {
  const shown = (part: ContentPart): ContentPart => {
    if (!isMedium(part)) return part;
    if (part.type === 'video' && video?.isShownAsText) return { type: 'text', text: video.placeholder };
    return placeholderOf(part.type);
  };
  return messages.map((message) =>
    Array.isArray(message.content) && message.content.some(isMedium)
      ? { ...message, content: message.content.map(shown) }
      : message,
  );
}

const EMPTY = new Uint8Array(0);
