// Converts a chat completion to the engine's request, and a request of another interface by way of the chat completion that stands for it.

import type { TextModel, TextPrompt, TextRequest } from '../../index.ts';
import { type Renames, renameParam, underNames, underNamesLater } from '../body/renamed.ts';
import { partNames } from '../media/named-parts.ts';
import { withMedia } from '../media/request-media.ts';
import type { Asked } from '../service/route.ts';
import { withoutMissing } from '../body/fields.ts';
import { checkTokenIds, toGeneration, underFieldName } from '../text/generation-request.ts';
import { toChatMessages } from '../text/messages.ts';
import { thinkingKwargs, toReasoning } from '../text/reasoning.ts';
import { type ChatBody, validateChat } from './chat-schema.ts';
import { toToolRequest, toTools } from '../text/tools.ts';

interface ChatRequest {
  /** With its media as bytes. */
  request: TextRequest;
  /** Gives the engine's errors the names of the client's fields. */
  rename(error: unknown): unknown;
}

type AskedOf = Pick<Asked<unknown>, 'service' | 'event'> & { model: TextModel; adapter?: string };
type Change = (request: TextRequest) => TextRequest;

const same: Change = (request) => request;

/** Reads a body of /v1/chat/completions that was checked. `change` adds to the request. Throws RequestError. */
export async function askChecked(
  { service, event, model, adapter }: AskedOf,
  body: ChatBody,
  change = same,
): Promise<ChatRequest> {
  checkTokenIds(body, model.info);
  const named = change(toTextRequest(body, adapter));
  return {
    request: await withMedia(service, event, model, named),
    rename: (error) => underFieldName(error, body),
  };
}

/** Checks and reads the chat completion that stands for another interface's request. `names`: its fields there. Throws RequestError. */
export async function askAs(
  asked: AskedOf,
  chat: () => object,
  names: Renames,
  change = same,
): Promise<ChatRequest> {
  const made = underNames(names, chat);
  const all = [...partNames(made), ...names];
  const { body } = underNames(all, () => validateChat(made));
  const { request, rename } = await underNamesLater(all, askChecked(asked, body, change));
  return { request, rename: (error) => renameParam(rename(error), all) };
}

/** `adapter`: the suffix of `model`. Throws RequestError. */
function toTextRequest(body: ChatBody, adapter?: string): TextRequest {
  const request = {
    prompt: toPrompt(body),
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    ...toGeneration(body, adapter),
    ...toTileLimits(body),
    prediction: toPrediction(body),
    logprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
    ...toToolRequest(body),
    // Reasoning in the reply to input_ids, which no template made, is separated only on request.
    reasoning: toReasoning(body) ?? (body.input_ids ? {} : undefined),
  };
  return withoutMissing(request);
}

function toPrediction({ prediction }: ChatBody): string | undefined {
  if (prediction === undefined) return undefined;
  const { content } = prediction;
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('');
}

/** Limits on the tiles of images, for the engine. */
export function toTileLimits(body: Pick<ChatBody, 'max_dynamic_patch' | 'min_dynamic_patch'>) {
  return withoutMissing({ maxTiles: body.max_dynamic_patch, minTiles: body.min_dynamic_patch });
}

function toPrompt(body: ChatBody): TextPrompt {
  const tools = toTools(body);
  if (body.input_ids) return withoutMissing({ ids: body.input_ids, tools });
  const kwargs = { ...thinkingKwargs(body), ...body.chat_template_kwargs };
  return withoutMissing({
    messages: toChatMessages(body.messages ?? []),
    tools,
    templateKwargs: Object.keys(kwargs).length > 0 ? kwargs : undefined,
    continueFinal: body.continue_final_message,
  });
}
