// /v1/files: files that requests refer to, which are the input and the output of batches.

import type { H3Event } from 'h3';
import { z } from 'zod';
import { bodyChecker } from '../body/body.ts';
import { type FieldTable, honoured } from '../body/fields.ts';
import { readForm } from '../body/form-body.ts';
import { fieldError, RequestError } from '../http/errors.ts';
import { listReply, pageOf, pageQuery } from '../http/paging.ts';
import { listIgnored } from '../service/model-call.ts';
import type { RouteTable } from '../service/route.ts';
import type { Service } from '../service/service.ts';
import { type FileRecord, shownFile } from './file-reply-schema.ts';
import { isOwn, ownerNow } from '../service/caller.ts';
import { fileStoreOf } from './file-store.ts';

/** Seconds that a file may be kept, as in OpenAI's interface. */
const LIFETIME = { least: 3600, most: 2_592_000 };

const FILE_FIELDS = {
  file: honoured(
    z.custom<File>((value) => value instanceof File, { error: 'must be a file' }),
    'The file; for batches JSON Lines.',
  ),
  purpose: honoured(
    z.enum(['batch'], { error: 'must be batch: files for other purposes are read by nothing here' }),
    'What it is for: batch.',
  ),
  expires_after: honoured(
    z.strictObject({
      anchor: z.literal('created_at'),
      seconds: z.int().min(LIFETIME.least).max(LIFETIME.most),
    }),
    'When it is deleted, as {"anchor": "created_at", "seconds": 3600}.',
  ),
} satisfies FieldTable;

const checkFile = bodyChecker({ fields: FILE_FIELDS, required: ['file', 'purpose'], mayBeEmpty: ['file'] });

const PAGES = { noun: 'file', nouns: 'files', most: 10_000, usual: 10_000 };

const COMMON = { group: 'Batches', schemas: [() => import('./file-reply-schema.ts')] } as const;

export const FILE_ROUTES: RouteTable = {
  '/v1/files': {
    POST: {
      handle: createFile,
      summary: 'Stores a file for batches, sent as a form.',
      ...COMMON,
      form: FILE_FIELDS,
      required: ['file', 'purpose'],
      reply: 'StoredFile',
    },
    GET: {
      handle: listFiles,
      summary: 'Files that are stored, a page of them.',
      ...COMMON,
      query: { ...pageQuery(PAGES), purpose: 'Files of this purpose alone.' },
      reply: 'StoredFileList',
    },
  },
  '/v1/files/:id': {
    GET: {
      handle: async (service, event) => fileReply(await fileAt(service, event)),
      summary: 'What is known of a file.',
      ...COMMON,
      reply: 'StoredFile',
    },
    DELETE: {
      handle: deleteFile,
      summary: 'Deletes a file.',
      ...COMMON,
      reply: 'DeletedFile',
    },
  },
  '/v1/files/:id/content': {
    GET: {
      handle: fileContent,
      summary: 'The content of a file.',
      ...COMMON,
      gives: 'application/octet-stream',
    },
  },
};

/** Members of forms that clients write as `expires_after[seconds]`. */
function nested(form: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { 'expires_after[anchor]': anchor, 'expires_after[seconds]': seconds, ...body } = form;
  return anchor === undefined && seconds === undefined
    ? body
    : { ...body, expires_after: { anchor, seconds } };
}

async function createFile(service: Service, event: H3Event) {
  const { body, ignored } = checkFile(nested(await readForm(event.req, FILE_FIELDS)), service.options.strict);
  listIgnored(event, ignored);
  const store = await fileStoreOf(service);
  const { file, purpose, expires_after: expiry } = body;
  if (file.size === 0) throw fieldError('file', 'is empty; send a file with at least one line');
  const kept = { filename: file.name || 'file', purpose, owner: ownerNow() };
  const content = new Uint8Array(await file.arrayBuffer());
  return fileReply(await store.add({ ...kept, ...(expiry && { lifetime: expiry.seconds }) }, content));
}

function fileReply(record: FileRecord) {
  return { ...shownFile.parse(record), object: 'file', status: 'processed' };
}

/** The file that the address names. Throws RequestError where the caller has none of that id. */
async function fileAt(service: Service, { url }: H3Event): Promise<FileRecord> {
  const id = url.pathname.split('/')[3] ?? '';
  const found = await (await fileStoreOf(service)).find(id);
  if (found && isOwn(found.owner)) return found;
  throw new RequestError('not_found', `there is no file ${id} here, or no longer; GET /v1/files lists them`);
}

async function listFiles(service: Service, { url: { searchParams } }: H3Event) {
  const purpose = searchParams.get('purpose');
  const all = await (await fileStoreOf(service)).all();
  const wanted = all.filter((file) => purpose === null || file.purpose === purpose);
  const { page, hasMore } = pageOf(wanted, ({ id }) => id, searchParams, PAGES);
  return listReply(page.map(fileReply), hasMore);
}

async function deleteFile(service: Service, event: H3Event) {
  const file = await fileAt(service, event);
  await (await fileStoreOf(service)).delete(file);
  return { id: file.id, object: 'file', deleted: true };
}

async function fileContent(service: Service, event: H3Event): Promise<Response> {
  const file = await fileAt(service, event);
  const { bytes } = file;
  const content = (await fileStoreOf(service)).stream(file);
  return new Response(content as BodyInit | null, {
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(bytes),
      'x-content-type-options': 'nosniff',
    },
  });
}
