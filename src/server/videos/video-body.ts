// The body of a request for a video: JSON, or a form with the same names. Members of `extra_body` and its like stand for fields beside them.

import { isObject } from '../body/fields.ts';
import { readForm } from '../body/form-body.ts';
import { readJson } from '../body/json-body.ts';
import { parseJson } from '../body/json-text.ts';
import { refuseField } from '../http/errors.ts';
import { VIDEO_FIELDS } from './video-schema.ts';

const EXTRAS = ['extra_body', 'extra_json', 'extra_params'];

export async function readVideoBody(request: Request): Promise<unknown> {
  const isForm = /^multipart\/form-data/i.test(request.headers.get('content-type') ?? '');
  const sent = isForm ? nested(await readForm(request, VIDEO_FIELDS)) : await readJson(request);
  if (!isObject(sent)) return sent;
  const { input_reference: reference, ...body } = withExtras(sent);
  return { ...body, input_reference: isMembers(reference) ? urlOf(reference) : reference };
}

/** Members of objects, which forms send as `input_reference[image_url]`. */
function nested(form: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const body = new Map<string, unknown>();
  for (const [name, value] of Object.entries(form)) {
    const [, outer, inner] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
    if (outer === undefined || inner === undefined) body.set(name, value);
    else body.set(outer, { ...(body.get(outer) as object | undefined), [inner]: value });
  }
  return Object.fromEntries(body);
}

function withExtras(sent: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const body = new Map(Object.entries(sent));
  for (const name of EXTRAS) {
    const given = body.get(name) ?? null;
    body.delete(name);
    if (given === null) continue;
    const extra = typeof given === 'string' ? parseJson(Buffer.from(given), name) : given;
    if (!isMembers(extra)) refuseField(name, 'must be a JSON object of fields, or its text', 'invalid_type');
    for (const [field, value] of Object.entries(extra)) {
      if (body.has(field)) refuseField(`${name}.${field}`, `is sent as ${field}, too; send one of them`);
      body.set(field, value);
    }
  }
  return Object.fromEntries(body);
}

/** A file is an object, too, and has no members. */
const isMembers = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && !(value instanceof File);

/** The URL in OpenAI's object for an image. */
function urlOf(reference: Readonly<Record<string, unknown>>): unknown {
  if (reference['file_id'] !== undefined && reference['file_id'] !== null)
    refuseField(
      'input_reference.file_id',
      'names a file that was uploaded before, and this server keeps none; send the image, or its URL as image_url',
      'unsupported',
    );
  const { image_url: url = null } = reference;
  if (url === null)
    refuseField(
      'input_reference.image_url',
      'is required: the URL of an image',
      'missing_required_parameter',
    );
  return url;
}
