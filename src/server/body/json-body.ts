// A request's body as JSON, or the error that says why it is none.

import { readBytes } from './body-bytes.ts';
import { RequestError } from '../errors.ts';
import { parseJson } from './json-text.ts';

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

/** Also as `curl -d` sends it, under another type; such a request of a page of another site was refused before (checkSite). */
export async function readUntypedJson(request: Request): Promise<unknown> {
  const bytes = await readBytes(request);
  if (bytes.length === 0) throw new RequestError('invalid_json', 'the body is empty; send a JSON object');
  return parseJson(bytes, 'the body');
}
