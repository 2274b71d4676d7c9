// POST /tokenize and /detokenize, also under /v1.

import type { H3Event } from 'h3';
import type { TextPrompt, Tool } from '../../index.ts';
import { RequestError } from '../errors.ts';
import { readJson } from '../body/json-body.ts';
import { toChatMessages } from '../chat/messages.ts';
import { listIgnored, whileClientWaits } from '../model-call.ts';
import { toTileLimits } from '../chat/chat-request.ts';
import { withMedia } from '../media/request-media.ts';
import { underFieldName } from '../text/generation-request.ts';
import { findModel } from '../models.ts';
import { requireRunning, type Service } from '../service.ts';
import { checkTextIds } from './token-ids.ts';
import { checkDetokenize, checkTokenize } from './tokenize-schema.ts';

export async function tokenize(service: Service, event: H3Event) {
  requireRunning(service);
  const { body, ignored } = checkTokenize(await readJson(event.req), service.options.strict);
  const { prompt, messages, model: name = 'default' } = body;
  if ((prompt === undefined) === (messages === undefined)) {
    const message =
      prompt === undefined ? 'prompt is required, or messages' : 'prompt and messages are both there';
    throw new RequestError(
      prompt === undefined ? 'missing_required_parameter' : 'invalid_value',
      `${message}; send one of them`,
      { param: 'prompt' },
    );
  }
  const found = messages ? findModel(service, 'text', name) : findModel(service, ['text', 'embedding'], name);
  listIgnored(event, ignored);
  const most = found.model.info.contextLength;
  if (messages && found.kind === 'text') {
    const { tools, chat_template_kwargs: templateKwargs } = body;
    const conversation: TextPrompt = {
      messages: toChatMessages(messages),
      ...(tools && { tools: tools as unknown as Tool[] }),
      ...(templateKwargs && { templateKwargs }),
    };
    const { model } = found;
    const request = await withMedia(service, event, model, { prompt: conversation });
    const { ids } = await whileClientWaits(service, event, 'the prompt was rendered', (signal) =>
      model.renderPrompt(request.prompt, toTileLimits(body), { signal }).catch((error: unknown) => {
        throw underFieldName(error, body);
      }),
    );
    return { tokens: ids, count: ids.length, max_model_len: most };
  }
  const options = { addSpecialTokens: body.add_special_tokens ?? true };
  const encode = (text: string) => found.model.tokenize(text, options);
  if (!Array.isArray(prompt)) {
    const tokens = await encode(prompt ?? '');
    return { tokens, count: tokens.length, max_model_len: most };
  }
  const tokens = await Promise.all(prompt.map(encode));
  return { tokens, count: tokens.map(({ length }) => length), max_model_len: most };
}

export async function detokenize(service: Service, event: H3Event) {
  requireRunning(service);
  const { body, ignored } = checkDetokenize(await readJson(event.req), service.options.strict);
  const { model } = findModel(service, ['text', 'embedding'], body.model ?? 'default');
  listIgnored(event, ignored);
  const { tokens } = body;
  const options = { skipSpecialTokens: body.skip_special_tokens ?? true };
  const lists = isNested(tokens) ? tokens : [tokens];
  const path = (at: number): string => (isNested(tokens) ? `tokens.${at}` : 'tokens');
  lists.forEach((ids, at) => checkTextIds(ids, path(at), model.info));
  const [text = '', ...others] = await Promise.all(lists.map((ids) => model.detokenize(ids, options)));
  return { text: isNested(tokens) ? [text, ...others] : text };
}

function isNested(tokens: number[] | number[][]): tokens is number[][] {
  return Array.isArray(tokens[0]);
}
