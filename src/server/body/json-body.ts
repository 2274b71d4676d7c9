// Reads a request's body as JSON; an error says why the body is not JSON.

import { readBytes } from './body-bytes.ts';
import { RequestError } from '../http/errors.ts';
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

/**
 * Accepts any content type, since `curl -d` sends a form's type; checkSite has already refused such a request from a page of
 * another site.
 */
export async function readUntypedJson(request: Request): Promise<unknown> {
  const bytes = await readBytes(request);
  if (bytes.length === 0) throw new RequestError('invalid_json', 'the body is empty; send a JSON object');
  return parseJson(bytes, 'the body');
}
