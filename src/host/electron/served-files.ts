// Answers to requests for the engine's scheme: its page, the scripts of the bundle, and ranges of the files that are open. Nothing else on
// the disk can be read through it.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ByteSource } from '../../files/source.ts';
import { POLICY } from './wire.ts';

const PAGE =
  '<!doctype html><meta charset="utf-8"><title>svc-engine</title><script type="module" src="electron-page.js"></script>';

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

/** Bytes that are read at once. */
const CHUNK = 2 ** 20;

interface Served {
  source: ByteSource;
  failure: unknown;
}

export class ServedFiles {
  readonly #scripts: URL;
  readonly #open = new Map<string, Served>();

  /** `scripts`: URL of the bundle's folder, with a slash at its end. */
  constructor(scripts: URL) {
    this.#scripts = scripts;
  }

  /** Serves a file until it is closed. Returns its address, relative to the page. */
  add(source: ByteSource): string {
    const url = `files/${crypto.randomUUID()}`;
    this.#open.set(url, { source, failure: null });
    return url;
  }

  async close(url: string): Promise<void> {
    const served = this.#open.get(url);
    this.#open.delete(url);
    await served?.source.close();
  }

  /** Returns the error for which the last read of a file failed, or null. */
  failure(url: string): unknown {
    return this.#open.get(url)?.failure ?? null;
  }

  /** Answers GET and HEAD. Files honour a range of bytes as RFC 9110 has it; several ranges are answered by the whole file. */
  async answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname.slice(1);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return new Response(null, { status: 405, headers: { ...HEADERS, allow: 'GET, HEAD' } });
    if (path === '' || path === 'index.html') return text(PAGE, 'text/html; charset=utf-8');
    if (/^[\w-]+\.js$/.test(path)) return this.#script(path);
    const served = this.#open.get(path);
    return served === undefined ? notFound() : rangeOf(request, served);
  }

  async #script(name: string): Promise<Response> {
    const code = await readFile(fileURLToPath(new URL(name, this.#scripts)), 'utf8').catch(() => null);
    return code === null ? notFound() : text(code, 'text/javascript; charset=utf-8');
  }
}

function text(body: string, type: string): Response {
  return new Response(body, { headers: { ...HEADERS, 'content-type': type } });
}

function notFound(): Response {
  return new Response(null, { status: 404, headers: HEADERS });
}

function rangeOf(request: Request, served: Served): Response {
  const { size } = served.source;
  const headers = { ...HEADERS, 'content-type': 'application/octet-stream', 'accept-ranges': 'bytes' };
  const range = parseRange(request.headers.get('range'), size);
  if (range === 'unsatisfiable')
    return new Response(null, { status: 416, headers: { ...headers, 'content-range': `bytes */${size}` } });
  const { first, end } = range ?? { first: 0, end: size };
  return new Response(request.method === 'HEAD' ? null : streamOf(served, first, end), {
    status: range === null ? 200 : 206,
    headers: {
      ...headers,
      'content-length': String(end - first),
      ...(range && { 'content-range': `bytes ${first}-${end - 1}/${size}` }),
    },
  });
}

/** Returns null if the header is absent or is not one range of bytes, which RFC 9110 lets a server ignore. */
function parseRange(
  header: string | null,
  size: number,
): { first: number; end: number } | 'unsatisfiable' | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return null;
  if (match[1] === '') {
    const length = Math.min(Number(match[2]), size);
    return length === 0 ? 'unsatisfiable' : { first: size - length, end: size };
  }
  const first = Number(match[1]);
  if (match[2] !== '' && Number(match[2]) < first) return null;
  if (first >= size) return 'unsatisfiable';
  return { first, end: match[2] === '' ? size : Math.min(Number(match[2]) + 1, size) };
}

/** Reads from `first` to before `end` as the reader takes it, so that never more than two chunks are in memory. */
function streamOf(served: Served, first: number, end: number): ReadableStream<Uint8Array> {
  let at = first;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const length = Math.min(CHUNK, end - at);
        try {
          if (length > 0) controller.enqueue(await served.source.read(at, length));
        } catch (error) {
          served.failure = error;
          throw error;
        }
        at += length;
        if (at === end) controller.close();
      },
    },
    { highWaterMark: 1 },
  );
}
