// Fetches media over HTTP. The addresses of a host are checked when the connection looks them up, and the connection goes to an address that
// was checked: a name that resolves differently a moment later changes nothing. Each redirect is a request of its own and is checked anew.

import { lookup as dnsLookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { type IncomingMessage, type RequestOptions, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { RequestError } from '../http/errors.ts';
import { type ByteBudget, type CheckHead, HEAD_BYTES, type MediaSource } from './media-source.ts';
import { mediaOption } from '../../options/names.ts';

export interface FetchRules {
  /** Milliseconds for one medium, redirects included. */
  timeout: number;
  isAllowed(address: string): boolean;
  /** Default: the system's. */
  lookup?: Lookup;
}

type Lookup = (
  host: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

const MOST_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Throws RequestError, and the signal's reason if it aborts. */
export async function fetchMedia(
  url: URL,
  source: MediaSource,
  rules: FetchRules,
  {
    budget,
    signal,
    checkHead,
  }: { budget: ByteBudget; signal: AbortSignal; checkHead?: CheckHead | undefined },
): Promise<Uint8Array> {
  signal.throwIfAborted();
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(lateError(source, rules)), rules.timeout);
  const leave = (): void => abort.abort(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await followRedirects(url, { source, rules, budget, signal: abort.signal, checkHead });
  } catch (error) {
    if (abort.signal.aborted) throw abort.signal.reason;
    throw error instanceof RequestError ? error : unreachable(error, source);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
    // Ends the connection where the reply was not read to its end.
    abort.abort();
  }
}

interface Fetching {
  source: MediaSource;
  rules: FetchRules;
  budget: ByteBudget;
  signal: AbortSignal;
  checkHead: CheckHead | undefined;
}

async function followRedirects(first: URL, fetching: Fetching): Promise<Uint8Array> {
  const { source, signal } = fetching;
  let url = first;
  for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
    const reply = await send(url, fetching);
    const { statusCode: status = 0, headers } = reply;
    if (!REDIRECTS.has(status)) return readReply(reply, fetching);
    reply.destroy();
    const next = headers.location === undefined ? null : parsed(headers.location, url);
    if (!next)
      throw source.error(
        `leads to a redirect of ${url.host} without an address; send the address of the file itself`,
      );
    url = next;
    signal.throwIfAborted();
  }
  throw source.error(`redirects more than ${MOST_REDIRECTS} times; send the address of the file itself`);
}

function parsed(location: string, base: URL): URL | null {
  try {
    return new URL(location, base);
  } catch {
    return null;
  }
}

/** Sends one request and resolves with the head of its reply. */
function send(url: URL, { source, rules, signal }: Fetching): Promise<IncomingMessage> {
  const isHttps = url.protocol === 'https:';
  if (!isHttps && url.protocol !== 'http:')
    throw source.error(`redirects to an address that begins with ${url.protocol}; send http: or https:`);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // A connection to a literal address looks nothing up.
  if (isIP(host) !== 0 && !rules.isAllowed(host)) throw privateError(source);
  const options: RequestOptions = {
    // A connection of its own, so that none is shared with a request whose addresses were not checked.
    agent: false,
    signal,
    lookup: checkedLookup(source, rules),
    headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'svc-engine' },
  };
  return new Promise((resolve, reject) => {
    const sent = (isHttps ? httpsRequest : httpRequest)(url, options, resolve);
    sent.on('error', reject);
    sent.on('upgrade', ({ statusCode = 0 }: IncomingMessage, socket) => {
      socket.destroy();
      reject(statusError(statusCode, source));
    });
    // A connection may close without a reply and without an error.
    sent.on('close', () => reject(new Error('the connection closed without a reply')));
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    sent.end();
  });
}

/** A lookup that fails if any address of a name is not allowed. */
function checkedLookup(source: MediaSource, { isAllowed, lookup = dnsLookup }: FetchRules): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, '');
      const [first] = addresses;
      if (!first) return callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '');
      if (!addresses.every(({ address }) => isAllowed(address))) return callback(privateError(source), '');
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}

async function readReply(
  reply: IncomingMessage,
  { source, budget, checkHead }: Fetching,
): Promise<Uint8Array> {
  const { statusCode: status, headers } = reply;
  if (status !== 200) throw statusError(status, source);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw source.error(`comes with content-encoding ${encoding}, which is not read; send a data: URI`);
  const stated = Number(headers['content-length'] ?? 0);
  if (stated > 0) budget.check(stated, source);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of reply as AsyncIterable<Buffer>) {
    budget.take(chunk.length, source);
    chunks.push(chunk);
    const isHead = length < HEAD_BYTES && length + chunk.length >= HEAD_BYTES;
    length += chunk.length;
    if (isHead) checkHead?.(source, joined(chunks));
  }
  const bytes = joined(chunks);
  if (length < HEAD_BYTES) checkHead?.(source, bytes);
  return bytes;
}

function joined(chunks: readonly Buffer[]): Uint8Array {
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** The message does not repeat what a name resolved to. */
const privateError = (source: MediaSource): RequestError =>
  source.error(
    `leads to this machine or a private network, from which nothing is fetched without ${mediaOption('allowPrivateMedia')}; send a public address or a data: URI`,
  );

const lateError = (source: MediaSource, { timeout }: FetchRules): RequestError =>
  source.error(
    `did not arrive within ${timeout / 1000} seconds (${mediaOption('mediaTimeout')}); send a data: URI`,
  );

const statusError = (status: number | undefined, source: MediaSource): RequestError =>
  source.error(`cannot be fetched: its server answered ${status}; check the address`);

function unreachable(error: unknown, source: MediaSource): RequestError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'no connection';
  return source.error(`cannot be fetched (${code}); check the address`);
}
