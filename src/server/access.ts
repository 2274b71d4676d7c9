// Who may talk to the server: names in the Host header, origins of web pages, the API key.

import { createHash, timingSafeEqual } from 'node:crypto';
import { RequestError } from './errors.ts';

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i;

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** A page whose name was made to point at this machine still sends its own name: on loopback only local names pass. */
export function checkHost(header: string | null, listeningOn: string): void {
  if (header === null || !isLoopback(listeningOn)) return;
  const name = header.replace(/:\d*$/, '');
  if (isLoopback(name)) return;
  throw new RequestError(
    'forbidden_host',
    `the server listens on ${listeningOn} and does not answer to the name ${JSON.stringify(name)}; call it as localhost, or start it with another --host`,
  );
}

/** Of Electron, Tauri and editors: what no site can have. */
const SHELLS = /^(app|tauri|vscode-webview|vscode-file):\/\//;

/** Pages on this machine and in desktop shells; `extra` adds origins, `*` all of them. */
export function isAllowedOrigin(origin: string, extra: string[] = []): boolean {
  if (origin === 'null' || SHELLS.test(origin)) return true;
  if (extra.includes('*') || extra.includes(origin)) return true;
  return (
    URL.canParse(origin) && /^https?:$/.test(new URL(origin).protocol) && isLoopback(new URL(origin).hostname)
  );
}

const EXPOSED = 'x-request-id, x-svc-ignored, retry-after, retry-after-ms';

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

/** What a preflight adds. The names asked for are repeated: `*` would not cover `authorization`. */
export function preflightHeaders(request: Headers): Record<string, string> {
  return {
    'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
    'access-control-allow-headers': request.get('access-control-request-headers') ?? '*',
    'access-control-max-age': '86400',
    ...(request.has('access-control-request-private-network') && {
      'access-control-allow-private-network': 'true',
    }),
  };
}

/** Keys that open a route; null: none is asked for. That of the administrator opens all. */
export function keysFor(
  access: 'key' | 'admin',
  { apiKey, adminApiKey }: { apiKey?: string; adminApiKey?: string },
): string[] | null {
  const own = access === 'admin' ? (adminApiKey ?? apiKey) : apiKey;
  if (own === undefined) return null;
  return [own, ...(adminApiKey === undefined ? [] : [adminApiKey])];
}

/** As a bearer token, or in x-api-key, as Anthropic's clients send it. */
export function checkKey(headers: Headers, keys: string[] | null, access: 'key' | 'admin'): void {
  if (keys === null) return;
  const bearer = /^bearer +(.+)$/i.exec(headers.get('authorization') ?? '')?.[1]?.trim();
  const given = bearer ?? headers.get('x-api-key') ?? undefined;
  if (given === undefined) {
    throw new RequestError(
      'invalid_api_key',
      'this server asks for a key; send it as "Authorization: Bearer <key>"',
    );
  }
  // All of them are compared, so that the time tells nothing.
  if (keys.map((key) => isSame(given, key)).includes(true)) return;
  const which =
    access === 'admin' ? "the administrator's, of --admin-api-key" : 'the one the server was started with';
  throw new RequestError('invalid_api_key', `the key is wrong; send ${which}`);
}

/** Hashed first, so that the comparison takes as long for any wrong key. */
function isSame(given: string, key: string): boolean {
  return timingSafeEqual(digest(given), digest(key));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
