// Checks the parsed JSON body of a chat request: returns the honoured fields, or throws an error that names the wrong field.

import { objectOf } from '../body/body.ts';
import { RequestError } from '../errors.ts';
import { refuseUnknown, sortFields } from '../body/fields.ts';
import { checkGeneration } from '../text/generation-request.ts';
import { checkReasoning } from '../text/reasoning.ts';
import { toRequestError } from '../body/request-error.ts';
import { chatBody, type ChatBody, CHAT_FIELDS } from './chat-schema.ts';
import { checkTools } from '../text/tools.ts';
import { unknownMembers } from '../body/unknown-members.ts';

export type KnownBody = ChatBody & Required<Pick<ChatBody, 'model'>>;

/** `ignored`: names that nothing here reads; with `strict` they are an error. */
export function validateChat(value: unknown, strict: boolean): { body: KnownBody; ignored: string[] } {
  // An empty list of messages is an error; an empty stop or logit_bias counts as left out.
  const { honoured, ignored } = sortFields(objectOf(value), CHAT_FIELDS, ['messages']);
  requireFields(honoured);
  const parsed = chatBody.safeParse(honoured);
  if (!parsed.success) throw toRequestError(parsed.error, honoured);
  const body = parsed.data as KnownBody;
  checkPairs(body);
  const unread = [...ignored, ...unknownMembers(honoured, CHAT_FIELDS)];
  if (strict) refuseUnknown(unread, CHAT_FIELDS);
  return { body, ignored: unread };
}

function requireFields(given: Record<string, unknown>): void {
  const missing = (name: string, remedy: string) =>
    new RequestError('missing_required_parameter', `${name} is required${remedy}`, { param: name });
  if (given['messages'] === undefined && given['input_ids'] === undefined) throw missing('messages', '');
  if (given['model'] === undefined)
    throw missing('model', '; send a served name, or "default" for the model this server has');
}

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
