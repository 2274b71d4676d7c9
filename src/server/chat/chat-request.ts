// Converts the fields of a chat completion to the engine's request.

import type { TextPrompt, TextRequest } from '../../index.ts';
import { withoutMissing } from '../body/fields.ts';
import { toGeneration } from '../text/generation-request.ts';
import { toChatMessages } from './messages.ts';
import { thinkingKwargs, toReasoning } from '../text/reasoning.ts';
import type { ChatBody } from './chat-schema.ts';
import { toToolRequest, toTools } from '../text/tools.ts';

/** `adapter`: the suffix of `model`. Throws RequestError. */
export function toTextRequest(body: ChatBody, adapter?: string): TextRequest {
  const request = {
    prompt: toPrompt(body),
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    ...toGeneration(body, adapter),
    ...toTileLimits(body),
    logprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
    ...toToolRequest(body),
    // Reasoning in the reply to input_ids, which no template made, is separated only on request.
    reasoning: toReasoning(body) ?? (body.input_ids ? {} : undefined),
  };
  return withoutMissing(request);
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
