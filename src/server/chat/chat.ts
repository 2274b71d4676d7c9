// POST /v1/chat/completions: converts the request for the engine, and the engine's events to the reply.

import { randomUUID } from 'node:crypto';
import type { H3Event } from 'h3';
import { toTextRequest } from './chat-request.ts';
import { chatForm } from './chat-stream.ts';
import { checkTokenIds } from '../text/generation-request.ts';
import { readJson } from '../body/json-body.ts';
import { withMedia } from '../media/request-media.ts';
import { listIgnored } from '../model-call.ts';
import { findTextModel } from '../models.ts';
import { completion, wishesOf } from './chat-reply.ts';
import { requireRunning, type Service } from '../service.ts';
import { acceptText, callText, renamedFor, replyWhole, type TextRun } from '../text/text-call.ts';
import { streamText } from '../text/text-stream.ts';
import { validateChat } from './chat-validation.ts';

export async function chatCompletions(service: Service, event: H3Event): Promise<unknown> {
  requireRunning(service);
  const { body, ignored } = validateChat(await readJson(event.req), service.options.strict ?? false);
  const { model, fingerprint, adapter } = findTextModel(service, body.model);
  checkTokenIds(body, model.info);
  listIgnored(event, ignored);

  const head = {
    id: body.rid ?? `chatcmpl-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model: body.model,
    system_fingerprint: fingerprint,
  };
  const named = { ...toTextRequest(body, adapter), id: head.id };
  const request = await withMedia(service, event, model, named);
  const call = callText(service, event, model, [request], renamedFor(body));
  const [{ fold }] = call.runs as [TextRun];
  const reply = { head, fold, wishes: wishesOf(body) };
  if (!body.stream) return replyWhole(call, () => completion(reply));
  await acceptText(call);
  const options = {
    includeUsage: body.stream_options?.include_usage ?? false,
    continuousUsage: body.stream_options?.continuous_usage_stats ?? false,
    progress: body.return_progress ?? false,
  };
  return streamText(service, event, call, (send) => chatForm(reply, options, send));
}
