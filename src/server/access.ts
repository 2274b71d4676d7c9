// Access rules: names in the Host header, origins of web pages, the API key.

import { createHash, timingSafeEqual } from 'node:crypto';
import { show } from './body/fields.ts';
import { isJson } from './body/json-body.ts';
import { RequestError } from './http/errors.ts';
import { keyOf } from './http/request-key.ts';
import type { Caller } from './service/caller.ts';

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i;

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Protects against DNS rebinding: on a loopback address only local names are accepted in the Host header. */
export function checkHost(header: string | null, listeningOn: string): void {
  if (header === null || !isLoopback(listeningOn)) return;
  const name = header.replace(/:\d*$/, '');
  if (isLoopback(name)) return;
  throw new RequestError(
    'forbidden_host',
    `the server listens on ${listeningOn} and does not answer to the name ${JSON.stringify(name)}; call it as localhost, or start it with another --host`,
  );
}

/** Schemes of Electron, Tauri and editors, which no site can have. */
const SHELLS = /^(app|tauri|vscode-webview|vscode-file):\/\//;

/**
 * Pages on this machine and in desktop shells; `extra` adds origins, `*` all of them. The origin `null` has to be added: a page of a
 * file has it, but so has every sandboxed frame of any site.
 */
export function isAllowedOrigin(origin: string, extra: string[] = []): boolean {
  if (SHELLS.test(origin) || extra.includes('*') || extra.includes(origin)) return true;
  return (
    URL.canParse(origin) && /^https?:$/.test(new URL(origin).protocol) && isLoopback(new URL(origin).hostname)
  );
}

/**
 * Refuses what a page of another site can send without a preflight: a form, a beacon or an empty POST. JSON passes, since browsers
 * send it only after a preflight that allows the origin. Clients that are not browsers send neither of the two headers.
 */
export function checkSite({ method, headers }: Pick<Request, 'method' | 'headers'>, extra?: string[]): void {
  if (/^(GET|HEAD|OPTIONS)$/.test(method) || isJson(headers)) return;
  const origin = headers.get('origin');
  const site = headers.get('sec-fetch-site');
  if (site === null ? origin === null : site !== 'cross-site') return;
  if (origin !== null && (isAllowedOrigin(origin, extra) || isOwn(origin, headers.get('host')))) return;
  throw new RequestError(
    'forbidden_origin',
    `this ${method} comes from a web page of another origin (${show(origin)}) and is not JSON; send it as application/json, and start the server with --cors-origins for pages of that origin`,
  );
}

/** Returns true if a page was served under the host name that its request is sent to. */
function isOwn(origin: string, host: string | null): boolean {
  return URL.canParse(origin) && new URL(origin).host === host;
}

const LEFT = ['limit', 'remaining', 'reset'].flatMap((what) => [
  `x-ratelimit-${what}-requests`,
  `x-ratelimit-${what}-tokens`,
]);
const EXPOSED = ['x-request-id, x-svc-ignored, x-svc-unenforced, retry-after, retry-after-ms', ...LEFT].join(
  ', ',
);

/** The headers a browser needs; an empty object where the request has no origin or not an allowed one. */
export function corsHeaders(request: Headers, extra?: string[]): Record<string, string> {
  const origin = request.get('origin');
  if (origin === null || !isAllowedOrigin(origin, extra)) return origin === null ? {} : { vary: 'origin' };
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': EXPOSED,
    vary: 'origin',
  };
}

/** Headers that the answer to a preflight adds for an allowed origin. The names asked for are repeated: `*` would not cover `authorization`. */
export function preflightHeaders(request: Headers, extra?: string[]): Record<string, string> {
  const origin = request.get('origin');
  if (origin === null || !isAllowedOrigin(origin, extra)) return {};
  return {
    'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
    'access-control-allow-headers': request.get('access-control-request-headers') ?? '*',
    'access-control-max-age': '86400',
    ...(request.has('access-control-request-private-network') && {
      'access-control-allow-private-network': 'true',
    }),
  };
}

/** The keys that a server was started with. */
export interface Keys {
  apiKey?: string;
  adminApiKey?: string;
  /** Keys of --api-key-file. */
  file?: { find(key: string): Caller | null };
}

const NAMED = { apiKey: 'api-key', adminApiKey: 'admin-api-key' } as const;

/**
 * Returns whose request it is; null where the route needs no key. The key is a bearer token, or x-api-key, as Anthropic's clients send it. The
 * administrator's key is accepted for every route. Throws RequestError without a key that the route accepts.
 */
export function callerOf(headers: Headers, keys: Keys, access: 'key' | 'admin'): Caller | null {
  const { apiKey, adminApiKey, file } = keys;
  const isOpen = apiKey === undefined && !file && (access === 'key' || adminApiKey === undefined);
  if (isOpen) return null;
  const given = keyOf(headers);
  if (given === undefined) {
    throw new RequestError(
      'invalid_api_key',
      'this server asks for a key; send it as "Authorization: Bearer <key>"',
    );
  }
  // Every key is compared, so that the time reveals nothing.
  const [isPlain, isAdmin] = [apiKey, adminApiKey].map((key) => key !== undefined && isSame(given, key));
  const named = file?.find(given) ?? null;
  if (isAdmin) return unbounded(NAMED.adminApiKey, true);
  const plainIsAdmin = adminApiKey === undefined;
  if (isPlain && (access === 'key' || plainIsAdmin)) return unbounded(NAMED.apiKey, plainIsAdmin);
  if (named && (access === 'key' || named.admin)) return named;
  if (named)
    throw new RequestError(
      'forbidden_route',
      `the key ${named.name} may not change what is served; send one with admin`,
    );
  const which =
    access === 'admin'
      ? "the administrator's, of --admin-api-key or one with admin in the file of --api-key-file"
      : 'one that the server was started with';
  throw new RequestError('invalid_api_key', `the key is wrong; send ${which}`);
}

const unbounded = (name: string, admin: boolean): Caller => ({ name, admin, models: null, limits: null });

/** The caller with the key of --api-key or --admin-api-key, by the name that the log has for it; null: there is no such key. */
export function ownCaller({ apiKey, adminApiKey }: Keys, name: string): Caller | null {
  if (name === NAMED.adminApiKey && adminApiKey !== undefined) return unbounded(name, true);
  if (name === NAMED.apiKey && apiKey !== undefined) return unbounded(name, adminApiKey === undefined);
  return null;
}

/** Compares hashes, so that the time does not depend on the key. */
function isSame(given: string, key: string): boolean {
  return timingSafeEqual(digest(given), digest(key));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
