// A form (multipart/form-data) as the object that the same request would be in JSON: files stay files, and texts become what
// their field's schema takes.

import { fieldError, RequestError } from '../http/errors.ts';
import type { FieldTable } from './fields.ts';
import { readBytes } from './json-body.ts';
import { parseJson } from './json-text.ts';

const MOST_FORM_PARTS = 256;

export async function readForm(request: Request, table: FieldTable): Promise<Record<string, unknown>> {
  const type = request.headers.get('content-type') ?? 'none';
  if (!/^multipart\/form-data *(;|$)/i.test(type)) {
    throw new RequestError(
      'invalid_content_type',
      `the body must come as content-type multipart/form-data, got ${type}`,
    );
  }
  // A client that sets the content-type header by hand often leaves out the boundary.
  if (!/; *boundary *=/i.test(type)) {
    throw new RequestError(
      'invalid_content_type',
      `content-type ${type} names no boundary; leave the header to the client, which sets it with the form`,
    );
  }
  const bytes = await readBytes(request);
  checkParts(bytes, type);
  const body = new Response(bytes, { headers: { 'content-type': type } });
  const form = await body.formData().catch(() => {
    throw new RequestError(
      'invalid_form',
      'the body is not valid multipart/form-data; send it as clients build it',
    );
  });
  const values = new Map<string, (string | File)[]>();
  for (const [key, value] of form) {
    // Browsers send an empty, nameless file if the user has chosen none.
    if (typeof value !== 'string' && value.size === 0 && value.name === '') continue;
    const name = key.replace(/\[\]$/, '');
    const all = values.get(name);
    if (all) all.push(value);
    else values.set(name, [value]);
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, fieldValue(name, all, table)]));
}

/** Counts the parts before any is parsed. Throws RequestError if there are too many. */
function checkParts(bytes: Uint8Array, type: string): void {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(type) ?? [];
  const boundary = `--${quoted ?? plain ?? ''}`;
  const form = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let parts = 0;
  for (let at = form.indexOf(boundary); at >= 0; at = form.indexOf(boundary, at + boundary.length)) {
    // The final boundary, which ends the form, is counted too.
    if (++parts > MOST_FORM_PARTS + 1)
      throw new RequestError(
        'invalid_form',
        `the body has more than ${MOST_FORM_PARTS} parts; send each field once`,
      );
  }
}

function fieldValue(name: string, all: (string | File)[], table: FieldTable): unknown {
  const field = Object.hasOwn(table, name) ? table[name] : undefined;
  const texts = all.filter((value) => typeof value === 'string');
  const [first] = all;
  if (all.length === 1 && first instanceof File) return first;
  const files = all.filter((value) => value instanceof File);
  if (files.length === all.length && field?.status === 'honoured' && field.schema.safeParse(files).success)
    return files;
  if (texts.length !== all.length) {
    throw fieldError(name, `takes one file, got ${all.length} parts; send one`);
  }
  const [text = ''] = texts;
  if (texts.length > 1) return texts.map((one) => jsonOr(one));
  const takesText = field?.status === 'honoured' && field.schema.safeParse(text).success;
  return takesText ? text : jsonOr(text);
}

/** Parses numbers, booleans, lists and objects. Any other text is returned as it is, and an empty text counts as left out. */
function jsonOr(text: string): unknown {
  if (text === '') return null;
  try {
    return parseJson(Buffer.from(text), 'the field');
  } catch {
    return text;
  }
}
