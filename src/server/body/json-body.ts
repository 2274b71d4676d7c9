// A request's body as JSON, or the error that says why it is none.

import { readBytes } from './body-bytes.ts';
import { RequestError } from '../errors.ts';
import { parseJson } from './json-text.ts';

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
  const bytes = await readBytes(request);
  if (bytes.length === 0) throw new RequestError('invalid_json', 'the body is empty; send a JSON object');
  return parseJson(bytes, 'the body');
}
