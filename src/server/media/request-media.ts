// Replaces the media that a request names by their bytes, once it is known that the model takes them.

import { type H3Event, onDispose } from 'h3';
import {
  checkMediaFormat,
  type ContentPart,
  EngineError,
  mediaFormat,
  type MediaKind,
  MODEL_KINDS,
  type TextModel,
  type TextPrompt,
} from '../../index.ts';
import { MEDIA_NOUNS, takenText } from '../../files/media/media-nouns.ts';
import { MEDIA_FETCHING } from '../../options/media.ts';
import { RequestError } from '../http/errors.ts';
import { whileClientWaits } from '../service/model-call.ts';
import { modelsOf } from '../service/models.ts';
import type { Service } from '../service/service.ts';
import { ByteBudget, HeldBytes, type CheckHead, MediaSource } from './media-source.ts';
import { checkDeclaredFormat } from './declared-format.ts';
import { checkCounts, type MediaRules, readMedia } from './read-media.ts';

/**
 * Returns the request with its media as bytes. The fetches end when the client leaves or the server stops. Throws RequestError, with paths of
 * a chat completion.
 */
export async function withMedia<T extends { prompt: TextPrompt }>(
  service: Service,
  event: H3Event,
  model: TextModel,
  request: T,
): Promise<T> {
  const { prompt } = request;
  if (!('messages' in prompt)) return request;
  const sources = prompt.messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.flatMap(sourceOf) : [],
  );
  if (sources.length === 0) return request;
  for (const source of sources) checkKind(source.kind, source, service, model);
  const checkHead: CheckHead = (source, head) => {
    if (source.kind === null) kindOf(head, source, service, model);
    else checkFormat(head, source.kind, source);
  };
  const bytes = await fetched(service, event, sources, checkHead);
  for (const [at, source] of sources.entries()) checkDeclaredFormat(source, bytes[at]!);
  const kinds = sources.map((source, at) => source.kind ?? kindOf(bytes[at]!, source, service, model));
  checkCounts(sources, kinds, rulesOf(service));
  const media = new Map(sources.map((source, at) => [source, { kind: kinds[at]!, bytes: bytes[at]! }]));
  const messages = prompt.messages.map((message) => {
    const { content } = message;
    if (!Array.isArray(content)) return message;
    return { ...message, content: content.map((part) => withBytes(part, media)) };
  });
  return { ...request, prompt: { ...prompt, messages } };
}

/** The media of all requests in progress. */
const noBytes = (): HeldBytes => new HeldBytes();

function sourceOf(part: ContentPart): MediaSource | [] {
  const held = part[part.type];
  return held instanceof MediaSource ? held : [];
}

function fetched(
  service: Service,
  event: H3Event,
  sources: readonly MediaSource[],
  checkHead: CheckHead,
): Promise<Uint8Array[]> {
  const rules = rulesOf(service);
  const budget = new ByteBudget(rules.maxMediaBytes, service.kept(noBytes));
  // The request holds the bytes until its reply has ended.
  onDispose(event, () => budget.release());
  return whileClientWaits(service, event, 'the media had arrived', (signal) =>
    readMedia(sources, rules, { budget, signal, checkHead }),
  );
}

/** Fetches an image that a request names; the caller releases its bytes. Throws RequestError. */
export async function fetchImage(
  service: Service,
  url: string,
  field: string,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array; release(): void }> {
  const rules = rulesOf(service);
  const budget = new ByteBudget(rules.maxMediaBytes, service.kept(noBytes));
  const checkHead: CheckHead = (source, head) => checkFormat(head, 'image', source);
  try {
    const sources = [new MediaSource('image', url, field)];
    const [bytes] = await readMedia(sources, rules, { budget, signal, checkHead });
    return { bytes: bytes!, release: () => budget.release() };
  } catch (error) {
    budget.release();
    throw error;
  }
}

export function rulesOf({ options: { media } }: Service): MediaRules {
  return {
    maxMediaBytes: MEDIA_FETCHING.maxMediaBytes.default,
    mediaTimeout: MEDIA_FETCHING.mediaTimeout.default,
    allowPrivateMedia: MEDIA_FETCHING.allowPrivateMedia.default,
    ...media,
  };
}

type Media = ReadonlyMap<MediaSource, { kind: MediaKind; bytes: Uint8Array }>;

function withBytes(part: ContentPart, media: Media): ContentPart {
  const source = sourceOf(part);
  if (!(source instanceof MediaSource)) return part;
  const { kind, bytes } = media.get(source)!;
  const { type, [type]: _, ...rest } = part;
  return { ...rest, type: kind, [kind]: bytes } as unknown as ContentPart;
}

/** Throws RequestError for bytes that are nothing of the kind. */
function checkFormat(bytes: Uint8Array, kind: MediaKind, source: MediaSource): void {
  try {
    checkMediaFormat(bytes, kind, source.field);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new RequestError(error.code, error.message, { param: source.field });
  }
}

/** The kind of a file, which its bytes tell: of those that its format may hold, the first that the model reads. */
function kindOf(bytes: Uint8Array, source: MediaSource, service: Service, model: TextModel): MediaKind {
  const kinds = mediaFormat(bytes)?.kinds ?? [];
  const kind = kinds.find((one) => model.info.media.includes(one)) ?? kinds[0];
  if (kind === undefined)
    throw source.error(
      'is not an image, video or sound of a format that is read; convert it to PNG, MP4 or WAV, or send text in its place',
      'unsupported',
    );
  checkKind(kind, source, service, model);
  return kind;
}

/** Throws RequestError if the model does not take media of a kind; null: of any kind. */
function checkKind(kind: MediaKind | null, source: MediaSource, service: Service, { info }: TextModel): void {
  const takes = ({ media }: TextModel['info']): boolean =>
    kind === null ? media.length > 0 : media.includes(kind);
  if (takes(info)) return;
  const what = kind === null ? 'a file' : MEDIA_NOUNS[kind].one;
  const others = modelsOf<TextModel>(service, MODEL_KINDS.text)
    .filter(({ model }) => takes(model.info))
    .flatMap(({ names }) => names.slice(0, 1));
  const remedy =
    others.length === 0
      ? 'no model that is served here takes it, so leave it out'
      : `send it to ${others.join(' or ')}`;
  throw source.error(
    `is ${what}, and ${info.name} reads ${takenText(info.media)} only; ${remedy}`,
    'unsupported',
  );
}
