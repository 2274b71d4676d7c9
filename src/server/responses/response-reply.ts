// A response as one object and as the typed events of its stream.

import { toErrorReply } from '../http/errors.ts';
import { type Fold, mediaTokensOf, usageOf } from '../text/reply-fold.ts';
import { createOutput } from './response-output.ts';
import type { InputItem } from './response-items.ts';
import type { ResponseReply } from './response-reply-schema.ts';
import type { ResponseBody } from './response-schema.ts';
import { NOT_OFFERED, type OfferedTool } from './response-tools.ts';
import type { Send, TextForm } from '../text/text-reply.ts';

export interface ResponseHead {
  id: string;
  /** Seconds since 1970. */
  created: number;
  body: ResponseBody;
  /** Tools that the model may call. */
  offered: readonly OfferedTool[];
  sampling: { temperature: number; topP: number };
}

type Status = ResponseReply['status'];

function statusOf({ choices: [choice], error }: Fold): Status {
  if (error) return 'failed';
  const reason = choice?.finishReason ?? null;
  if (reason === null) return 'in_progress';
  if (reason === 'abort') return 'cancelled';
  return reason === 'length' ? 'incomplete' : 'completed';
}

/** `fold` is null before the response has any output. */
export function responseOf(head: ResponseHead, fold: Fold | null, output: unknown[]) {
  const { id, created, body, sampling } = head;
  const status = fold ? statusOf(fold) : 'in_progress';
  const { error } = fold ?? {};
  const said = error && toErrorReply(error).body.error;
  return {
    id,
    object: 'response',
    created_at: created,
    status,
    background: false,
    error: said ? { code: said.code, message: said.message } : null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    model: body.model,
    output,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: { effort: body.reasoning?.effort ?? null, summary: null },
    store: body.store ?? true,
    temperature: body.temperature ?? sampling.temperature,
    text: { format: body.text?.format ?? { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: (body.tools ?? []).filter(({ type }) => type !== NOT_OFFERED),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? sampling.topP,
    truncation: body.truncation ?? 'disabled',
    usage: fold && status !== 'in_progress' ? usage(fold) : null,
    user: null,
    metadata: body.metadata ?? {},
  };
}

function usage(fold: Fold): ResponseReply['usage'] {
  const { prompt_tokens, completion_tokens, total_tokens, reasoning_tokens } = usageOf(fold);
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens: fold.cachedTokens, ...mediaTokensOf(fold) },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens },
    total_tokens,
  };
}

/** Status of the item at which the reply ends. */
const lastStatus = (fold: Fold): 'completed' | 'incomplete' =>
  statusOf(fold) === 'completed' ? 'completed' : 'incomplete';

/** What becomes of a response while it is made. */
export interface Follow {
  begin(): void;
  end(response: ReturnType<typeof responseOf>, output: InputItem[]): void;
  forget(): void;
}

export function responseForm(head: ResponseHead, fold: Fold, follow: Follow, write: Send): TextForm {
  let sequence = 0;
  const emit = (type: string, members: object) =>
    write({ type, sequence_number: sequence++, ...members }, type);
  const output = createOutput(emit, head);
  const whole = () => {
    const response = responseOf(head, fold, output.items());
    follow.end(response, output.items());
    return response;
  };
  return {
    begin() {
      follow.begin();
      const response = responseOf(head, null, []);
      emit('response.created', { response });
      emit('response.in_progress', { response });
    },
    part: (_, part) => output.add(part),
    end: () => output.close(lastStatus(fold)),
    finish() {
      const response = whole();
      const ending = response.status === 'cancelled' ? 'incomplete' : response.status;
      emit(`response.${ending}`, { response });
    },
    whole,
    forget: follow.forget,
  };
}
