// Both hubs on loopback, with a store on a second origin to which large files are redirected, and every network fault.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Fault {
  /** Ends the response after this many bytes of the body. */
  after?: number;
  finish?: 'stall' | 'drop' | 'end';
  /** Responds with this status. */
  status?: number;
  headers?: Record<string, string>;
  /** Flips a byte. */
  corrupt?: boolean;
  ignoreRange?: boolean;
  /** Sends no Content-Length. */
  chunked?: boolean;
  /** Claim this size in Content-Length and Content-Range. */
  claim?: number;
  /** Bytes sent beyond the end, without a Content-Length. */
  extra?: number;
  /** Pause this long between pieces of 16 KiB. */
  pauseMs?: number;
}

export interface Seen {
  method: string;
  origin: 'hub' | 'store';
  path: string;
  range: string | undefined;
  authorization: string | undefined;
  cookie: string | undefined;
  encoding: string | undefined;
}

export interface MockHub {
  url: string;
  seen: Seen[];
  /** Returns the requests for one file on either origin. */
  seenOf(path: string): Seen[];
  /** Returns the largest number of simultaneous connections to one file. */
  mostAtOnce(path: string): number;
  /**
   * Returns the fault of a request: `path` is the file's path, or 'list'; `count` is the number of earlier requests for its bytes.
   */
  fault: (
    path: string,
    count: number,
    range: string | undefined,
  ) => Fault | undefined | Promise<Fault | undefined>;
  /** Revisions by name; each is a commit and its files. */
  revisions: Map<string, { commit: string; files: Map<string, Buffer> }>;
  /** Changes a listing before it is sent. */
  editListing: (listing: { siblings?: Sibling[]; [key: string]: unknown }) => void;
  token: string | null;
  close(): Promise<void>;
}

export interface Sibling {
  rfilename: string;
  size?: number;
  blobId?: string;
  lfs?: { sha256: string; size: number };
}

export const ID = 'acme/tiny';
export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
export const gitId = (bytes: Buffer): string =>
  createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
export const isLarge = (path: string): boolean => path.endsWith('.safetensors');
export const blobOf = (path: string, bytes: Buffer): string => (isLarge(path) ? sha256(bytes) : gitId(bytes));
export const commitOf = (name: string): string => createHash('sha1').update(name).digest('hex');

/** Pseudo-random bytes, the same for the same seed. */
export function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = seed * 2654435761 + 1;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

export function tinyModel(weights = noise(300_000, 1)): Map<string, Buffer> {
  return new Map([
    ['config.json', Buffer.from('{"model_type":"tiny"}')],
    ['tokenizer.json', noise(5000, 2)],
    ['model.safetensors', weights],
    ['README.md', Buffer.from('# tiny')],
  ]);
}

export async function startHub(files: Map<string, Buffer>): Promise<MockHub> {
  const counts = new Map<string, number>();
  const open = new Map<string, number>();
  const most = new Map<string, number>();
  const servers: Server[] = [];
  const hub: MockHub = {
    url: '',
    seen: [],
    seenOf: (path) => hub.seen.filter((request) => request.path === path),
    mostAtOnce: (path) => most.get(path) ?? 0,
    fault: () => undefined,
    revisions: new Map([
      ['main', { commit: commitOf('one'), files }],
      ['master', { commit: commitOf('one'), files }],
    ]),
    editListing: () => {},
    token: null,
    async close() {
      await Promise.all(
        servers.map((server) => {
          server.closeAllConnections();
          return new Promise((resolve) => server.close(resolve));
        }),
      );
    },
  };

  const note = (request: IncomingMessage, origin: Seen['origin'], path: string): void => {
    const { range, authorization, cookie, 'accept-encoding': encoding } = request.headers;
    hub.seen.push({ method: request.method ?? '', origin, path, range, authorization, cookie, encoding });
  };
  const revision = (name: string) =>
    hub.revisions.get(name) ?? [...hub.revisions.values()].find(({ commit }) => commit === name);
  const sendFile = async (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    bytes: Buffer,
  ) => {
    const count = counts.get(path) ?? 0;
    counts.set(path, count + 1);
    open.set(path, (open.get(path) ?? 0) + 1);
    most.set(path, Math.max(most.get(path) ?? 0, open.get(path) ?? 0));
    await sendBytes(request, response, bytes, (await hub.fault(path, count, request.headers.range)) ?? {});
    open.set(path, (open.get(path) ?? 1) - 1);
  };

  const store = createServer((request, response) => {
    if (isPreflight(request, response)) return;
    const [, name, path = ''] = /^\/store\/([^/]+)\/(.*)$/.exec(decodeURIComponent(request.url ?? '')) ?? [];
    note(request, 'store', path);
    const bytes = revision(name ?? '')?.files.get(path);
    if (bytes) void sendFile(request, response, path, bytes);
    else response.writeHead(404).end();
  });
  servers.push(store);
  const storeUrl = await listen(store);

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://hub');
    const listing = /^\/api\/models\/acme\/tiny\/revision\/([^/]+)$/.exec(url.pathname);
    const second = url.pathname === '/api/v1/models/acme/tiny/repo/files';
    const resolve = /^\/acme\/tiny\/resolve\/([^/]+)\/(.+)$/.exec(url.pathname);
    const isSecondFile = url.pathname === '/api/v1/models/acme/tiny/repo';
    if (hub.token !== null && request.headers.authorization !== `Bearer ${hub.token}`) {
      note(request, 'hub', 'refused');
      response
        .writeHead(request.headers.authorization ? 403 : 401, { 'x-error-code': 'GatedRepo' })
        .end('{}');
      return;
    }
    if (listing || second) {
      note(request, 'hub', 'list');
      const name = second ? (url.searchParams.get('Revision') ?? '') : decodeURIComponent(listing?.[1] ?? '');
      const fault = await hub.fault('list', counts.get('list') ?? 0, undefined);
      counts.set('list', (counts.get('list') ?? 0) + 1);
      const found = revision(name);
      if (fault?.status) response.writeHead(fault.status, fault.headers).end('{}');
      else if (fault?.finish) request.socket.destroy();
      else if (found) sendJson(response, second ? listSecond(found.files) : listFirst(found, hub));
      else
        response.writeHead(404, { 'x-error-code': 'RevisionNotFound' }).end('{"Message":"no such revision"}');
      return;
    }
    const name = isSecondFile ? url.searchParams.get('Revision') : resolve?.[1];
    const path = isSecondFile ? url.searchParams.get('FilePath') : decodeURIComponent(resolve?.[2] ?? '');
    const bytes = revision(name ?? '')?.files.get(path ?? '');
    if (!path || !bytes) {
      note(request, 'hub', url.pathname);
      response.writeHead(404, { 'x-error-code': 'RepoNotFound' }).end('{}');
      return;
    }
    note(request, 'hub', path);
    response.setHeader('x-repo-commit', revision(name ?? '')?.commit ?? '');
    response.setHeader('etag', `"${blobOf(path, bytes)}"`);
    if (isLarge(path)) {
      const headers = { 'x-linked-etag': `"${sha256(bytes)}"`, 'x-linked-size': String(bytes.length) };
      response.writeHead(302, { ...headers, location: `${storeUrl}/store/${name}/${path}` }).end();
    } else if (request.method === 'HEAD') {
      response.writeHead(200, { 'content-length': bytes.length }).end();
    } else await sendFile(request, response, path, bytes);
  };
  const front = createServer((request, response) => {
    if (!isPreflight(request, response)) void answer(request, response);
  });
  servers.push(front);
  hub.url = await listen(front);
  return hub;
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Lets pages of other origins read, and answers the question whether they may. */
function isPreflight(request: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-expose-headers', 'x-error-code, content-range, etag');
  if (request.method !== 'OPTIONS') return false;
  response.writeHead(204, { 'access-control-allow-headers': 'authorization, range' }).end();
  return true;
}

const sendJson = (response: ServerResponse, value: unknown): void => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
};

function listFirst({ commit, files }: { commit: string; files: Map<string, Buffer> }, hub: MockHub): unknown {
  const siblings = [...files].map(([path, bytes]): Sibling => {
    const entry = { rfilename: path, size: bytes.length, blobId: gitId(bytes) };
    return isLarge(path) ? { ...entry, lfs: { sha256: sha256(bytes), size: bytes.length } } : entry;
  });
  const listing = { id: ID, sha: commit, siblings };
  hub.editListing(listing);
  return listing;
}

function listSecond(files: Map<string, Buffer>): unknown {
  const entries = [...files].map(([path, bytes]) => ({
    Path: path,
    Name: path.split('/').at(-1),
    Type: 'blob',
    Size: bytes.length,
    Sha256: sha256(bytes),
  }));
  return {
    Code: 200,
    Success: true,
    Data: { Files: [{ Path: 'sub', Type: 'tree', Size: 0, Sha256: '' }, ...entries] },
  };
}

async function sendBytes(
  request: IncomingMessage,
  response: ServerResponse,
  whole: Buffer,
  fault: Fault,
): Promise<void> {
  if (fault.status) {
    response.writeHead(fault.status, fault.headers).end();
    return;
  }
  const size = fault.claim ?? whole.length;
  const range = fault.ignoreRange ? null : /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const start = range ? Number(range[1]) : 0;
  const end = range?.[2] ? Math.min(Number(range[2]) + 1, whole.length) : whole.length;
  if (range && start >= whole.length) {
    response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
    return;
  }
  let body = whole.subarray(start, end);
  if (fault.corrupt) {
    body = Buffer.from(body);
    body[body.length >> 1] = (body[body.length >> 1] ?? 0) ^ 1;
  }
  const headers: Record<string, string | number> = {};
  if (fault.extra) body = Buffer.concat([body, Buffer.alloc(fault.extra)]);
  if (!fault.extra && !fault.chunked) headers['content-length'] = range ? end - start : size;
  if (range) headers['content-range'] = `bytes ${start}-${end - 1}/${size}`;
  response.writeHead(range ? 206 : 200, headers);

  const until = fault.after ?? body.length;
  for (let at = 0; at < until && !response.destroyed; at += 16_384) {
    if (at > 0 && fault.pauseMs) await new Promise((resolve) => setTimeout(resolve, fault.pauseMs));
    response.write(body.subarray(at, Math.min(at + 16_384, until)));
  }
  if (fault.finish === 'stall') return;
  if (fault.finish === 'drop') setTimeout(() => request.socket.destroy(), 20);
  else if (fault.finish === 'end' && !fault.chunked) request.socket.end();
  else response.end();
}
