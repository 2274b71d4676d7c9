// The media of a request as bytes: counted against the limits, each address read once; data: URIs are decoded here.

import type { MediaKind } from '../../index.ts';
import { allowsPublic } from './addresses.ts';
import type { ByteBudget, CheckHead, MediaSource } from './media-source.ts';
import { fetchMedia, type FetchRules } from './fetch-media.ts';
import { fileBytes } from './media-file.ts';
import { MEDIA_NOUNS } from '../../files/media/media-nouns.ts';
import { mediaOption } from '../../options/names.ts';

/** How a server reads media; values of options/media.ts. */
export interface MediaRules {
  maxMediaBytes: number;
  /** Milliseconds. */
  mediaTimeout: number;
  allowedMediaPath?: string;
  allowPrivateMedia: boolean;
  limitMmDataPerRequest?: Readonly<Partial<Record<MediaKind, number>>>;
}

/** Media of one request that are read at once. */
const MOST_AT_ONCE = 8;

/**
 * Reads all media of a request, in order. Equal addresses are read once and share their bytes, which `budget` counts until the caller
 * releases it. `checkHead` judges what is fetched or read from a file by its first bytes. An error ends the other fetches. Throws RequestError, and the signal's reason if it aborts.
 */
export async function readMedia(
  sources: readonly MediaSource[],
  rules: MediaRules,
  { budget, signal, checkHead }: { budget: ByteBudget; signal: AbortSignal; checkHead?: CheckHead },
  fetching: Partial<FetchRules> = {},
): Promise<Uint8Array[]> {
  checkCounts(
    sources,
    sources.map(({ kind }) => kind),
    rules,
  );
  const abort = new AbortController();
  const leave = (): void => abort.abort(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  const isAllowed = rules.allowPrivateMedia ? () => true : allowsPublic();
  const fetchRules: FetchRules = { timeout: rules.mediaTimeout, isAllowed, ...fetching };
  try {
    const urls = new Set<string>();
    const distinct = sources.filter(({ url }) => !urls.has(url) && urls.add(url));
    const found = await inTurns(distinct, MOST_AT_ONCE, async (source) => {
      const bytes = await readOne(source, {
        rules,
        fetchRules,
        budget,
        signal: abort.signal,
        checkHead,
      });
      return [source.url, bytes] as const;
    });
    const bytes = new Map(found);
    return sources.map(({ url }) => bytes.get(url)!);
  } finally {
    signal.removeEventListener('abort', leave);
    abort.abort();
  }
}

/** Throws RequestError for the first medium beyond the number that a request may have of its kind; null: a kind that is not known yet. */
export function checkCounts(
  sources: readonly MediaSource[],
  kinds: readonly (MediaKind | null)[],
  { limitMmDataPerRequest: limits = {} }: MediaRules,
): void {
  for (const [kind, most] of Object.entries(limits) as [MediaKind, number][]) {
    const own = sources.filter((_, at) => kinds[at] === kind);
    const excess = own[most];
    if (!excess) continue;
    throw excess.error(
      `is one of ${own.length} ${MEDIA_NOUNS[kind].many}, above the limit of ${most} in one request (${mediaOption('limitMmDataPerRequest')}); send fewer`,
    );
  }
}

interface Reading {
  rules: MediaRules;
  fetchRules: FetchRules;
  budget: ByteBudget;
  signal: AbortSignal;
  checkHead: CheckHead | undefined;
}

async function readOne(
  source: MediaSource,
  { rules, fetchRules, budget, signal, checkHead }: Reading,
): Promise<Uint8Array> {
  signal.throwIfAborted();
  if (/^data:/i.test(source.url)) return dataBytes(source.url, source, budget);
  const url = urlOf(source.url, source);
  switch (url.protocol) {
    case 'http:':
    case 'https:':
      return fetchMedia(url, source, fetchRules, { budget, signal, checkHead });
    case 'file:':
      return fileBytes(url, source, { allowed: rules.allowedMediaPath, budget, signal, checkHead });
    default:
      throw source.error(`begins with ${url.protocol}, which is not fetched; ${ADDRESSES}`);
  }
}

const ADDRESSES = 'send an http:, https:, data: or file: URL';

function urlOf(text: string, source: MediaSource): URL {
  try {
    return new URL(text);
  } catch {
    throw source.error(`is not a URL; ${ADDRESSES}`);
  }
}

/** Runs `each` for all entries, at most so many at once. Rejects with the first error. */
async function inTurns<T, R>(
  entries: readonly T[],
  most: number,
  each: (entry: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < entries.length) {
      const at = next++;
      results[at] = await each(entries[at]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, entries.length) }, work));
  return results;
}

/** The data: URI of a member that holds base64 by itself. */
export const dataUrl = (base64: string): string => `data:;base64,${base64}`;

/** Characters of a data: URI before its comma. */
const MOST_OF_HEAD = 1000;

/** Bytes of a data: URI. Its media type is not used, since the bytes tell their format. Throws RequestError. */
export function dataBytes(url: string, source: MediaSource, budget: ByteBudget): Uint8Array {
  const comma = url.slice(0, MOST_OF_HEAD).indexOf(',');
  if (comma < 0) throw source.error('is a data: URI without a comma; send data:<type>;base64,<bytes>');
  if (!/;base64\s*$/i.test(url.slice(0, comma)))
    throw source.error('is a data: URI without base64; send data:<type>;base64,<bytes>');
  const text = url.slice(comma + 1);
  return base64Bytes(text.includes('%') ? unescaped(text, source) : text, source, budget);
}

function unescaped(text: string, source: MediaSource): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw source.error('has a wrong percent escape; send base64 without escapes');
  }
}

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** Standard and URL-safe base64, with or without padding and line breaks. Throws RequestError. */
function base64Bytes(text: string, source: MediaSource, budget: ByteBudget): Uint8Array {
  const digits = BASE64.test(text) ? text : text.replaceAll(/\s+/g, '');
  if (!BASE64.test(digits)) throw source.error('is not base64; send the bytes of the file in base64');
  const length = digits.replace(/=+$/, '').length;
  if (length % 4 === 1) throw source.error('is base64 that is cut off; send the whole file');
  const bytes = new Uint8Array(Math.floor((length * 3) / 4));
  budget.take(bytes.length, source);
  // In a buffer of its own, because a message between threads copies the whole buffer, and Node's small Buffers share one.
  Buffer.from(bytes.buffer).write(digits, 'base64');
  return bytes;
}
