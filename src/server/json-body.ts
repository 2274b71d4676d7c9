// A request's body as JSON, or the error that says why it is none.

import { RequestError } from './errors.ts';

export const BODY_LIMIT = 64 * 1024 * 1024;
/** Lists and objects inside each other. */
const MOST_LEVELS = 200;

/** Also as `curl -d` sends it, under another type; not from web pages, which could then call without a preflight. */
export async function readUntypedJson(request: Request): Promise<unknown> {
  return request.headers.has('origin') ? readJson(request) : parseBody(request);
}

export async function readJson(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type');
  if (!/^application\/([\w.+-]+\+)?json *(;|$)/i.test(type ?? '')) {
    throw new RequestError(
      'invalid_content_type',
      `the body must come as content-type application/json, got ${type ?? 'none'}`,
    );
  }
  return parseBody(request);
}

async function parseBody(request: Request): Promise<unknown> {
  const text = await readWhole(request, () => request.text());
  if (text === '') throw new RequestError('invalid_json', 'the body is empty; send a JSON object');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RequestError('invalid_json', `the body is not valid JSON: ${(error as SyntaxError).message}`);
  }
  if (isDeeperThan(MOST_LEVELS, value)) {
    throw new RequestError(
      'invalid_json',
      `the body is nested deeper than ${MOST_LEVELS} levels; send it flatter`,
    );
  }
  return value;
}

/** The limit is also the HTTP server's own: it counts what arrives without a length. */
export async function readWhole<T>(request: Request, read: () => Promise<T>): Promise<T> {
  if (Number(request.headers.get('content-length')) > BODY_LIMIT) throw tooLarge();
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') {
    throw new RequestError(
      'invalid_content_type',
      `the body came with content-encoding ${encoding}, which is not read; send it uncompressed`,
    );
  }
  try {
    return await read();
  } catch (error) {
    throw isTooLarge(error)
      ? tooLarge()
      : new RequestError('cancelled', 'the client left before its body was read');
  }
}

/** What follows walks and prints values level by level on the stack. */
function isDeeperThan(most: number, value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return false;
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BODY_TOO_LARGE';
}

function tooLarge(): RequestError {
  const mebibytes = BODY_LIMIT / 2 ** 20;
  return new RequestError(
    'request_too_large',
    `the body is larger than ${mebibytes} MiB; send a shorter conversation or smaller pictures`,
  );
}
