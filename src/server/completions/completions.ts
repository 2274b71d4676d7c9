// POST /v1/completions: continues texts without a chat template.

import { randomUUID } from 'node:crypto';
import type { H3Event } from 'h3';
import { CompletionStream, textCompletion } from './completion-reply.ts';
import { toCompletions } from './completion-request.ts';
import { checkCompletion } from './completion-schema.ts';
import { underFieldName } from '../text/generation-request.ts';
import { renameParam } from '../body/renamed.ts';
import { readJson } from '../body/json-body.ts';
import { listIgnored } from '../model-call.ts';
import { findTextModel } from '../models.ts';
import { requireRunning, type Service } from '../service.ts';
import { acceptText, callText, replyWhole } from '../text/text-call.ts';
import { streamText } from '../text/text-stream.ts';

export async function completions(service: Service, event: H3Event): Promise<unknown> {
  requireRunning(service);
  const { body, ignored } = checkCompletion(await readJson(event.req), service.options.strict);
  const { model, fingerprint, adapter } = findTextModel(service, body.model);
  const asked = await toCompletions(body, model, adapter);
  listIgnored(event, ignored);
  const rename = (error: unknown): unknown => {
    return renameParam(underFieldName(error, body), [['max_completion_tokens', 'max_tokens']]);
  };
  const requests = asked.map(({ request }) => request);
  const call = callText(service, event, model, requests, rename);
  const reply = {
    head: {
      id: body.rid ?? `cmpl-${randomUUID()}`,
      created: Math.floor(Date.now() / 1000),
      model: body.model,
      system_fingerprint: fingerprint,
    },
    call,
    echoes: asked.map(({ echo }) => echo),
    body,
  };
  if (!body.stream) return replyWhole(call, () => textCompletion(reply));
  await acceptText(call);
  return streamText(service, event, call, (send) => new CompletionStream(reply, send));
}
