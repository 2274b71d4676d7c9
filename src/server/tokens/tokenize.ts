// POST /tokenize and /detokenize, also under /v1.

import { MODEL_KINDS, type TextPrompt, type Tool } from '../../index.ts';
import { toTileLimits } from '../chat/chat-request.ts';
import { refuseField } from '../http/errors.ts';
import { withMedia } from '../media/request-media.ts';
import { whileClientWaits } from '../service/model-call.ts';
import { alias, bodyRoute, type RouteTable } from '../service/route.ts';
import { useModel } from '../service/use-model.ts';
import { underFieldName, checkTextIds } from '../text/generation-request.ts';
import { toChatMessages } from '../text/messages.ts';
import { EMBEDDINGS } from './embeddings.ts';
import { DETOKENIZE_FIELDS, TOKENIZE_FIELDS } from './token-schema.ts';

const SCHEMAS = [() => import('./token-reply-schema.ts')];

const TOKENIZE = bodyRoute(
  {
    summary: 'Token ids of a text, or of a conversation as the model reads it.',
    group: 'Text',
    fields: TOKENIZE_FIELDS,
    mayBeEmpty: ['prompt', 'messages'],
    checkTogether: checkOneInput,
    reply: 'Tokens',
    schemas: SCHEMAS,
  },
  async ({ service, event, body }) => {
    const { prompt, messages, model: name = 'default' } = body;
    if (messages) {
      const { model } = await useModel({ service, event }, MODEL_KINDS.text, name);
      const { tools, chat_template_kwargs: templateKwargs } = body;
      const conversation: TextPrompt = {
        messages: toChatMessages(messages),
        ...(tools && { tools: tools as unknown as Tool[] }),
        ...(templateKwargs && { templateKwargs }),
      };
      const request = await withMedia(service, event, model, { prompt: conversation });
      const { ids } = await whileClientWaits(service, event, 'the prompt was rendered', (signal) =>
        model.renderPrompt(request.prompt, toTileLimits(body), { signal }).catch((error: unknown) => {
          throw underFieldName(error, body);
        }),
      );
      return { tokens: ids, count: ids.length, max_model_len: model.info.contextLength };
    }
    const { model } = await useModel({ service, event }, [MODEL_KINDS.text, MODEL_KINDS.embedding], name);
    const most = model.info.contextLength;
    const options = { addSpecialTokens: body.add_special_tokens ?? true };
    const encode = (text: string) => model.tokenize(text, options);
    if (!Array.isArray(prompt)) {
      const tokens = await encode(prompt ?? '');
      return { tokens, count: tokens.length, max_model_len: most };
    }
    const tokens = await Promise.all(prompt.map(encode));
    return { tokens, count: tokens.map(({ length }) => length), max_model_len: most };
  },
);

function checkOneInput({ prompt, messages }: { prompt?: unknown; messages?: unknown }): void {
  if (prompt === undefined && messages === undefined)
    refuseField('prompt', 'is required, or messages; send one of them', 'missing_required_parameter');
  if (prompt !== undefined && messages !== undefined)
    refuseField('prompt', 'and messages are both there; send one of them');
}

const DETOKENIZE = bodyRoute(
  {
    summary: 'The text of token ids.',
    group: 'Text',
    fields: DETOKENIZE_FIELDS,
    required: ['tokens'],
    reply: 'Detokenized',
    schemas: SCHEMAS,
  },
  async ({ service, event, body }) => {
    const kinds = [MODEL_KINDS.text, MODEL_KINDS.embedding];
    const { model } = await useModel({ service, event }, kinds, body.model ?? 'default');
    const { tokens } = body;
    const options = { skipSpecialTokens: body.skip_special_tokens ?? true };
    const lists = isNested(tokens) ? tokens : [tokens];
    const path = (at: number): string => (isNested(tokens) ? `tokens.${at}` : 'tokens');
    lists.forEach((ids, at) => checkTextIds(ids, path(at), model.info));
    const [text = '', ...others] = await Promise.all(lists.map((ids) => model.detokenize(ids, options)));
    return { text: isNested(tokens) ? [text, ...others] : text };
  },
);

function isNested(tokens: number[] | number[][]): tokens is number[][] {
  return Array.isArray(tokens[0]);
}

export const TOKEN_ROUTES: RouteTable = {
  '/v1/embeddings': { POST: EMBEDDINGS },
  '/tokenize': { POST: alias('/v1/tokenize', TOKENIZE) },
  '/v1/tokenize': { POST: TOKENIZE },
  '/detokenize': { POST: alias('/v1/detokenize', DETOKENIZE) },
  '/v1/detokenize': { POST: DETOKENIZE },
};
