// HTTP for hubs: redirects are followed by hand so that credentials are sent only to their origin, silent connections time out, and
// retries wait as long as the server asks. `fetch` alone does none of these. In a page the browser follows redirects, and removes
// the credentials at another origin.
import { jsonObject } from '../source.ts';
import { EngineError, networkError, reasonOf } from '../error.ts';

export interface HubLimits {
  /** Consecutive attempts without a received byte before giving up. */
  attempts: number;
  /** A connection without a received byte for this long is dropped and opened again. */
  stallMs: number;
  /** First pause between attempts; doubles each time. */
  backoffMs: number;
  /** Longest pause; a server that asks for more is reported instead of obeyed. */
  longestWaitMs: number;
  /** Files larger than this are downloaded in parts of this size. Parts wait in memory until earlier ones are written. */
  partBytes: number;
  /** Number of parts of one file that are downloaded at once. */
  partsAhead: number;
  /** Number of files that are downloaded at once. */
  files: number;
  /** Number of connections over all files. */
  connections: number;
}

export const HUB_LIMITS: HubLimits = {
  attempts: 6,
  stallMs: 20_000,
  backoffMs: 1000,
  longestWaitMs: 300_000,
  partBytes: 8 * 1024 * 1024,
  partsAhead: 4,
  files: 4,
  connections: 8,
};

/** Settings shared by all requests of one call. */
export interface Session {
  limits: HubLimits;
  signal: AbortSignal | undefined;
  /** Headers that are sent only to `origin`. */
  credentials: { origin: string; headers: Record<string, string> };
  /** Whether a browser sends the requests: it follows redirects, and hides headers that a server does not expose. */
  inPage: boolean;
  onRetry: (path: string, reason: string, attempt: number, waitMs: number) => void;
}

/** A failure after which a retry makes sense. */
export class Transient extends Error {
  readonly retryAfterMs: number | null;
  /** Whether no server could be reached. */
  readonly unreachable: boolean;

  constructor(reason: string, retryAfterMs: number | null = null, unreachable = false) {
    super(reason);
    this.retryAfterMs = retryAfterMs;
    this.unreachable = unreachable;
  }
}

/** Unknown host name, closed port, no route, or a port that fetch refuses. */
const UNREACHABLE = /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|bad port)$/;
/** Attempts to reach a hub for the first time; a name that is unknown now is unlikely to be known in a minute. */
const REACHING_ATTEMPTS = 2;

/** Aborts a connection that falls silent. `feed` restarts the timer, `pause` stops it while the reader is slow. */
export interface Watch {
  signal: AbortSignal;
  feed(): void;
  pause(): void;
  stalled(): boolean;
}

export function watchSilence(session: Session): Watch {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stalled = false;
  const expire = (): void => {
    stalled = true;
    controller.abort();
  };
  const stop = (): void => clearTimeout(timer);
  const feed = (): void => {
    stop();
    timer = setTimeout(expire, session.limits.stallMs);
  };
  feed();
  const signal = session.signal ? AbortSignal.any([session.signal, controller.signal]) : controller.signal;
  return { signal, feed, pause: stop, stalled: () => stalled };
}

/** Describes for a user why a read failed, as an error that allows a retry. */
export function transientOf(error: unknown, watch: Watch, session: Session): unknown {
  if (error instanceof EngineError || error instanceof Transient) return error;
  if (watch.stalled()) return new Transient(`no bytes for ${session.limits.stallMs / 1000} s`);
  // A browser gives no reason for a failed request: no network, no server, or a server that forbids other origins.
  if (session.inPage && error instanceof TypeError) return new Transient(error.message, null, true);
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const reason = code === '' || code.startsWith('UND_') ? reasonOf(cause) : code;
  return new Transient(reason, null, UNREACHABLE.test(reason));
}

/** Runs `work` under a watch; its errors are those that a user reads, and allow a retry. */
export async function watched<T>(session: Session, work: (watch: Watch) => Promise<T>): Promise<T> {
  const watch = watchSilence(session);
  try {
    return await work(watch);
  } catch (error) {
    throw transientOf(error, watch, session);
  } finally {
    watch.pause();
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MOST_REDIRECTS = 8;

interface Opened {
  response: Response;
  /** URL after redirects. */
  url: string;
}

interface OpenOptions {
  method?: 'GET' | 'HEAD';
  headers?: Record<string, string>;
  /** Returns true for a redirect that is returned instead of followed. */
  keepRedirect?: (response: Response) => boolean;
}

/** Sends one request. Busy and failing servers throw `Transient`; the caller judges every other response. */
export async function open(
  session: Session,
  url: string,
  watch: Watch,
  options: OpenOptions = {},
): Promise<Opened> {
  let at = url;
  for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
    const response = await fetchOnce(session, at, watch, options);
    watch.feed();
    if (REDIRECTS.has(response.status) && !options.keepRedirect?.(response)) {
      const location = response.headers.get('location');
      await response.body?.cancel();
      if (location === null) throw new Transient(`${at} redirects to nowhere`);
      at = new URL(location, at).href;
      continue;
    }
    if (response.status === 408 || response.status === 429 || response.status >= 500) {
      await response.body?.cancel();
      throw new Transient(`${new URL(at).host} answered ${response.status}`, retryAfter(response));
    }
    return { response, url: session.inPage && response.url !== '' ? response.url : at };
  }
  throw networkError(`${url} redirects more than ${MOST_REDIRECTS} times; check the endpoint`);
}

async function fetchOnce(
  session: Session,
  url: string,
  watch: Watch,
  options: OpenOptions,
): Promise<Response> {
  const own = new URL(url).origin === session.credentials.origin;
  try {
    return await fetch(url, {
      method: options.method ?? 'GET',
      // A page may not see where a redirect leads. Its files are stored already, so the browser's own cache would keep them twice.
      ...(session.inPage ? { redirect: 'follow', cache: 'no-store' } : { redirect: 'manual' }),
      signal: watch.signal,
      headers: {
        ...(session.inPage ? {} : { 'user-agent': 'svc-engine' }),
        // With compression, sizes would not count the file's bytes. With a range, fetch sets this header itself.
        ...(options.headers?.['range'] || session.inPage ? {} : { 'accept-encoding': 'identity' }),
        ...(own ? session.credentials.headers : {}),
        ...options.headers,
      },
    });
  } catch (error) {
    throw transientOf(error, watch, session);
  }
}

function retryAfter(response: Response): number | null {
  const value = response.headers.get('retry-after');
  if (value === null) return null;
  const ms = /^\d+$/.test(value.trim()) ? 1000 * Number(value) : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) {
    throw new EngineError(
      'cancelled',
      'the download was cancelled; what has arrived is kept for the next try',
    );
  }
}

/** Resolves after `ms`, or as soon as `signal` aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end);
  });
}

/**
 * Runs `attempt` until it succeeds, fails permanently, or fails `limits.attempts` times in a row. An attempt after which
 * `progressed` reports received bytes restarts the count.
 */
export async function withRetries<T>(
  session: Session,
  path: string,
  attempt: () => Promise<T>,
  progressed: () => boolean = () => false,
): Promise<T> {
  const { attempts, backoffMs, longestWaitMs } = session.limits;
  for (let failures = 1; ; failures++) {
    throwIfCancelled(session.signal);
    try {
      return await attempt();
    } catch (error) {
      throwIfCancelled(session.signal);
      if (!(error instanceof Transient)) throw error;
      if (progressed()) failures = 1;
      if (failures >= attempts) {
        throw networkError(
          `${path}: ${error.message}, ${attempts} times; try again later, what has arrived is kept`,
        );
      }
      // Half of each pause is random, so that parts that failed together do not retry together.
      const backoff = Math.min(longestWaitMs, backoffMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2);
      const waitMs = Math.round(error.retryAfterMs ?? backoff);
      if (waitMs > longestWaitMs) {
        throw networkError(
          `${path}: ${error.message} and asks to wait ${Math.ceil(waitMs / 1000)} s; try again then`,
        );
      }
      session.onRetry(path, error.message, failures, waitMs);
      await pause(waitMs, session.signal);
    }
  }
}

interface JsonAnswer {
  status: number;
  headers: Headers;
  body: Record<string, unknown> | null;
}

/**
 * Requests JSON. `body` is null if the response is not JSON object. On the first request to a hub: an unreachable hub fails soon, with
 * `endpoint` as the error's param.
 */
export function getJson(session: Session, url: string): Promise<JsonAnswer> {
  const { host, pathname } = new URL(url);
  let unreachable = 0;
  return withRetries(session, `${host}${pathname}`, async () => {
    try {
      return await watched(session, async (watch) => {
        const { response } = await open(session, url, watch, { headers: { accept: 'application/json' } });
        return {
          status: response.status,
          headers: response.headers,
          body: jsonObject(await response.text()),
        };
      });
    } catch (failure) {
      if (failure instanceof Transient && failure.unreachable && ++unreachable === REACHING_ATTEMPTS) {
        throw networkError(`${host} cannot be reached (${failure.message})`, 'endpoint');
      }
      throw failure;
    }
  });
}
