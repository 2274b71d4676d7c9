// The check of a chat request's body: its fields, and the rules that involve more than one of them.

import { bodyChecker, type BodyRules } from '../body/body.ts';
import { RequestError } from '../http/errors.ts';
import { checkGeneration } from '../text/generation-request.ts';
import { checkReasoning } from '../text/reasoning.ts';
import { CHAT_FIELDS, type ChatBody } from './chat-schema.ts';
import { checkTools } from '../text/tools.ts';

export const CHAT_RULES = {
  fields: CHAT_FIELDS,
  required: ['messages', 'model'],
  inPlace: { messages: 'input_ids' },
  checkTogether: checkPairs,
} satisfies BodyRules<typeof CHAT_FIELDS, 'messages' | 'model'>;

export const validateChat = bodyChecker(CHAT_RULES);

function checkPairs(body: ChatBody): void {
  const maxTokens = body.max_completion_tokens ?? body.max_tokens;
  const name = body.max_completion_tokens === undefined ? 'max_tokens' : 'max_completion_tokens';
  checkGeneration(body, [name, maxTokens]);
  checkTools(body);
  checkReasoning(body);
  const refuse = (param: string, text: string): never => {
    throw new RequestError('invalid_value', `${param} ${text}`, { param });
  };
  if (body.top_logprobs !== undefined && !body.logprobs)
    refuse('top_logprobs', 'needs logprobs to be true; send both or neither');
  if (body.return_progress && !body.stream)
    refuse('return_progress', 'needs stream to be true; send both or neither');
  if (body.continue_final_message) {
    const last = body.messages?.at(-1);
    if (last?.role !== 'assistant' || typeof last.content !== 'string')
      refuse(
        'continue_final_message',
        "needs the last message to be the assistant's, with a text to go on from",
      );
  }
  const rendered = ['chat_template_kwargs', 'continue_final_message'] as const;
  const unread = body.input_ids && rendered.find((field) => body[field] !== undefined);
  if (unread) refuse(unread, 'is for the chat template, and input_ids go past it; send one of them');
}
