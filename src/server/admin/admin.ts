// POST /flush_cache and /abort_request: administration of text models.

import type { H3Event } from 'h3';
import type { TextModel } from '../../index.ts';
import { checkAbort, checkFlush } from './admin-schema.ts';
import { RequestError } from '../errors.ts';
import { readJson } from '../body/json-body.ts';
import { listIgnored } from '../model-call.ts';
import { findModel } from '../models.ts';
import { requireRunning, type Service } from '../service.ts';

/** The text model with a name, or all text models that are ready. */
function textModels(service: Service, name: string | undefined): TextModel[] {
  if (name !== undefined) return [findModel(service, 'text', name).model];
  return service.slots.flatMap(({ phase }) =>
    phase.name === 'ready' && phase.ready.kind === 'text' ? [phase.ready.model] : [],
  );
}

/** Reads the body of a route whose body may be missing. */
async function readOptional(event: H3Event): Promise<unknown> {
  const { headers } = event.req;
  const isEmpty = Number(headers.get('content-length')) === 0 && !headers.has('transfer-encoding');
  return isEmpty ? {} : readJson(event.req);
}

export async function flushCache(service: Service, event: H3Event) {
  requireRunning(service);
  const { body, ignored } = checkFlush(await readOptional(event), service.options.strict);
  listIgnored(event, ignored);
  const flushed = await Promise.all(textModels(service, body.model).map((model) => model.flushCache()));
  if (!flushed.includes(false)) return { flushed: true };
  throw new RequestError(
    'busy',
    'requests run or wait, and the cache is theirs; flush it once they have ended',
  );
}

export async function abortRequest(service: Service, event: H3Event) {
  requireRunning(service);
  const { body, ignored } = checkAbort(await readJson(event.req), service.options.strict);
  listIgnored(event, ignored);
  const { rid, abort_all: all = false } = body;
  if ((rid === undefined) === !all) {
    throw new RequestError(
      rid === undefined ? 'missing_required_parameter' : 'invalid_value',
      rid === undefined
        ? 'rid is required, or abort_all; send one of them'
        : 'rid and abort_all are both there; send one of them',
      { param: 'rid' },
    );
  }
  const counts = await Promise.all(textModels(service, body.model).map((model) => model.abort(rid ?? 'all')));
  return { aborted: counts.reduce((sum, count) => sum + count, 0) };
}
