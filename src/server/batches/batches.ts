// /v1/batches: many requests from a file, answered into a file.

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { H3Event } from 'h3';
import { z } from 'zod';
import { type FieldTable, honoured } from '../body/fields.ts';
import { filled } from '../body/bounded.ts';
import { fileStoreOf, filesFolder } from '../files/file-store.ts';
import { isOwn, ownerNow } from '../service/caller.ts';
import { fieldError, RequestError } from '../http/errors.ts';
import { listReply, pageOf, pageQuery } from '../http/paging.ts';
import { bodyRoute, type RouteTable } from '../service/route.ts';
import type { Service } from '../service/service.ts';
import { BATCH_ENDPOINTS } from './batch-input.ts';
import { type BatchRecord, shownBatch } from './batch-reply-schema.ts';
import { runBatch } from './batch-run.ts';
import { type Batch, type BatchStore, batchStoreOf } from './batch-store.ts';

const MOST_SECONDS = 14 * 86_400;

const secondsOf = (window: string): number => parseInt(window, 10) * (window.endsWith('d') ? 86_400 : 3600);

const BATCH_FIELDS = {
  input_file_id: honoured(filled, 'File with a request on each line, stored by POST /v1/files.'),
  endpoint: honoured(z.enum(BATCH_ENDPOINTS), 'Route of the requests.'),
  completion_window: honoured(
    z
      .string()
      .regex(/^[1-9]\d{0,2}[hd]$/, 'must be a number of hours or days, as 24h')
      .refine((window) => secondsOf(window) <= MOST_SECONDS, { error: 'must be at most 14d' }),
    'Time after which what is left is given up, as 24h.',
  ),
  metadata: honoured(
    z.record(z.string().max(64), z.string().max(512)).refine((map) => Object.keys(map).length <= 16, {
      error: 'may have 16 entries',
    }),
    'Up to 16 texts by names of your own, which come back with the batch.',
  ),
} satisfies FieldTable;

const PAGES = { noun: 'batch', nouns: 'batches', most: 100, usual: 20 };

const COMMON = { group: 'Batches', schemas: [() => import('./batch-reply-schema.ts')] } as const;

const CREATE = bodyRoute(
  {
    summary: 'Starts a batch: the requests of a file are answered into another file.',
    ...COMMON,
    fields: BATCH_FIELDS,
    required: ['input_file_id', 'endpoint', 'completion_window'],
    reply: 'Batch',
  },
  async ({ service, body }) => {
    const { input_file_id: id, endpoint, completion_window: window, metadata = null } = body;
    const input = await (await fileStoreOf(service)).find(id);
    if (!input || !isOwn(input.owner))
      throw fieldError(
        'input_file_id',
        `is ${JSON.stringify(id)}, and there is no such file; store it by POST /v1/files`,
      );
    const created = Math.floor(Date.now() / 1000);
    const record: BatchRecord = {
      id: `batch_${randomUUID()}`,
      endpoint,
      errors: null,
      input_file_id: id,
      completion_window: window,
      status: 'validating',
      output_file_id: null,
      error_file_id: null,
      created_at: created,
      in_progress_at: null,
      expires_at: created + secondsOf(window),
      finalizing_at: null,
      completed_at: null,
      failed_at: null,
      expired_at: null,
      cancelling_at: null,
      cancelled_at: null,
      request_counts: { total: 0, completed: 0, failed: 0 },
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
      metadata,
      owner: ownerNow(),
    };
    const store = await batchStoreOf(service);
    const batch: Batch = { record, abort: new AbortController() };
    await store.add(batch);
    const reply = batchReply(batch);
    store.run(() => runBatch(service, store, batch));
    return reply;
  },
);

export const BATCH_ROUTES: RouteTable = {
  '/v1/batches': {
    POST: CREATE,
    GET: {
      handle: listBatches,
      summary: 'Batches that were started, a page of them.',
      ...COMMON,
      query: pageQuery(PAGES),
      reply: 'BatchList',
    },
  },
  '/v1/batches/:id': {
    GET: {
      handle: async (service, event) => batchReply(await batchAt(service, event)),
      summary: 'A batch: its status and how many of its requests are answered.',
      ...COMMON,
      reply: 'Batch',
    },
  },
  '/v1/batches/:id/cancel': {
    POST: {
      handle: cancelBatch,
      summary: 'Cancels a batch; what is answered by then stays in its files.',
      ...COMMON,
      reply: 'Batch',
    },
  },
};

/** Continues the batches that an earlier server left, if it kept them. */
export async function resumeBatches(service: Service): Promise<void> {
  const { outputPath } = service.options;
  if (outputPath === undefined || !existsSync(filesFolder(outputPath))) return;
  const store: BatchStore = await batchStoreOf(service);
  for (const batch of store.unfinished()) {
    batch.abort = new AbortController();
    if (batch.record.status === 'cancelling') batch.abort.abort('cancelled');
    store.run(() => runBatch(service, store, batch));
  }
}

function batchReply({ record }: Batch) {
  return { ...shownBatch.parse(record), object: 'batch' };
}

async function batchAt(service: Service, { url }: H3Event): Promise<Batch> {
  const id = url.pathname.split('/')[3] ?? '';
  const found = (await batchStoreOf(service)).find(id);
  if (found) return found;
  throw new RequestError(
    'not_found',
    `there is no batch ${id} here, or no longer; GET /v1/batches lists them`,
  );
}

async function listBatches(service: Service, { url: { searchParams } }: H3Event) {
  const all = (await batchStoreOf(service)).all();
  const { page, hasMore } = pageOf(all, ({ record }) => record.id, searchParams, PAGES);
  return listReply(page.map(batchReply), hasMore);
}

async function cancelBatch(service: Service, event: H3Event) {
  const batch = await batchAt(service, event);
  const { record, abort } = batch;
  if (!abort)
    throw new RequestError('invalid_value', `the batch ${record.id} has ended: it is ${record.status}`);
  if (record.status !== 'cancelling')
    Object.assign(record, { status: 'cancelling', cancelling_at: Math.floor(Date.now() / 1000) });
  abort.abort('cancelled');
  return batchReply(batch);
}
