// Reads a request's body as bytes and as JSON; an error says why the body is not JSON. The rest of a body that is too large is read and
// discarded: most clients read the reply only after they have sent everything, and would otherwise see a closed connection in place of
// the error.

import { RequestError } from '../http/errors.ts';
import { parseJson } from './json-text.ts';
import { lateSignal } from '../http/arrival.ts';

/** Whether the body has a content type that browsers send to other origins only after a preflight. */
export function isJson(headers: Headers): boolean {
  return /^application\/([\w.+-]+\+)?json *(;|$)/i.test(headers.get('content-type') ?? '');
}

export async function readJson(request: Request): Promise<unknown> {
  if (!isJson(request.headers)) {
    const type = request.headers.get('content-type') ?? 'none';
    throw new RequestError(
      'invalid_content_type',
      `the body must come as content-type application/json, got ${type}`,
    );
  }
  return readUntypedJson(request);
}

/**
 * Accepts any content type, since `curl -d` sends a form's type; checkSite has already refused such a request from a page of
 * another site.
 */
export async function readUntypedJson(request: Request): Promise<unknown> {
  const bytes = await readBytes(request);
  if (bytes.length === 0) throw new RequestError('invalid_json', 'the body is empty; send a JSON object');
  return parseJson(bytes, 'the body');
}

const MEBIBYTE = 2 ** 20;
const BODY_LIMIT = 64 * MEBIBYTE;
/** Bytes of a refused body after which the connection is closed. */
const DISCARD_LIMIT = 4 * BODY_LIMIT;

/** Throws RequestError, also as soon as the body is late. */
export async function readBytes(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  const late = lateSignal(request);
  if (!late) return readWhole(request);
  const lateness = new Promise<never>((_, reject) => {
    late.addEventListener('abort', () => reject(late.reason), { once: true });
    if (late.aborted) reject(late.reason);
  });
  return Promise.race([readWhole(request), lateness]);
}

async function readWhole(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') {
    throw new RequestError(
      'unsupported_content_encoding',
      `the body came with content-encoding ${encoding}, which is not read; send it uncompressed`,
    );
  }
  const reader = request.body?.getReader();
  if (Number(request.headers.get('content-length')) > BODY_LIMIT) throw tooLarge(reader);
  if (!reader) return new Uint8Array();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for (let length = 0; ;) {
    const { value, done } = await reader.read().catch(() => {
      throw new RequestError('cancelled', 'the client left before its body was read');
    });
    if (done) break;
    length += value.length;
    if (length > BODY_LIMIT) throw tooLarge(reader);
    chunks.push(value);
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

function tooLarge(rest: Reader | undefined): RequestError {
  if (rest) void discard(rest);
  return new RequestError(
    'request_too_large',
    `the body is larger than ${BODY_LIMIT / MEBIBYTE} MiB; send a shorter conversation or smaller images`,
  );
}

async function discard(rest: Reader): Promise<void> {
  try {
    for (let length = 0; length <= DISCARD_LIMIT;) {
      const { value, done } = await rest.read();
      if (done) return;
      length += value.length;
    }
    await rest.cancel();
  } catch {
    // The client has closed the connection.
  }
}
