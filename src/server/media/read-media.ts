// The media of a request as bytes: counted against the limits, each address read once.

import type { MediaKind } from '../../index.ts';
import { allowsPublic } from './addresses.ts';
import { dataBytes } from './base64.ts';
import type { ByteBudget } from './byte-budget.ts';
import { fetchMedia, type FetchRules } from './fetch-media.ts';
import { fileBytes } from './media-file.ts';
import type { CheckHead, MediaSource } from './media-source.ts';
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
