// A chat completion and the chunks of its stream, read from the fold of the engine's events.

import type { FinishReason } from '../../index.ts';
import type { ChatCompletion, ChatCompletionChunk } from './chat-reply-schema.ts';
import type { ChatBody } from './chat-schema.ts';
import { OPENAI_ERRORS } from '../http/errors.ts';
import { toLogprobs, type Choice, choiceAt, extensionsOf, type Fold, usageOf } from '../text/reply-fold.ts';
import type { ReplyPart } from '../text/reply-parts.ts';
import type { ReplyHead } from '../text/text-interface.ts';
import type { Send, TextForm } from '../text/text-reply.ts';

interface Reply {
  head: ReplyHead<'chat.completion'>;
  fold: Fold;
  body: ChatBody;
}

/** The form of a reply: its chunks, and the whole. */
export function chatForm(reply: Reply, write: Send): TextForm {
  const { fold, body } = reply;
  const { include_usage: includesUsage, continuous_usage_stats: hasUsage } = body.stream_options ?? {};
  const send = (chunk: object) => write(hasUsage ? { ...chunk, usage: usageOf(fold) } : chunk);
  return {
    begin() {
      for (const index of fold.choices.keys()) send(roleChunk(reply, index));
    },
    ...(body.return_progress && { progress: (_, processed) => send(progressChunk(reply, processed)) }),
    part(choice, part) {
      const chunk = partChunk(reply, choice, part);
      if (chunk) send(chunk);
    },
    end: (choice) => endChunks(reply, choice).forEach(send),
    finish(error) {
      lastChunks(reply, includesUsage ?? false).forEach((chunk) => write(chunk));
      if (error) write(OPENAI_ERRORS.event(error));
    },
    whole: () => completion(reply),
  };
}

/** Whether the request uses the deprecated `functions` instead of `tools`; then so does the reply. */
const usesFunctions = (body: ChatBody): boolean => body.functions !== undefined;

function completion({ head, body, fold }: Reply): ChatCompletion {
  const svcext = extensionsOf(fold, body);
  return {
    ...head,
    choices: fold.choices.map((choice, index) => ({
      index,
      message: messageOf(choice, body),
      logprobs: body.logprobs ? toLogprobs(choice.logprobs) : null,
      finish_reason: finishReason(choice.finishReason!, body),
      matched_stop: choice.matchedStop,
      ...(choice.hiddenStates && { hidden_states: choice.hiddenStates }),
      ...(body.return_token_ids && { token_ids: choice.ids }),
      ...(fold.promptIds && { prompt_token_ids: fold.promptIds }),
    })),
    usage: usageOf(fold),
    ...(svcext && { svcext }),
  };
}

type Ended = ChatCompletion['choices'][number];

function messageOf({ text, reasoning, calls }: Choice, body: ChatBody): Ended['message'] {
  const functions = usesFunctions(body);
  const called = calls.map(({ id, ...spoken }) => ({ id, type: 'function' as const, function: spoken }));
  return {
    role: 'assistant',
    // As with OpenAI, a message that only calls tools has no content.
    content: text === '' && called.length > 0 ? null : text,
    reasoning_content: reasoning === '' ? null : reasoning,
    ...(reasoning !== '' && { reasoning }),
    tool_calls: called.length > 0 && !functions ? called : null,
    ...(functions && { function_call: called[0]?.function ?? null }),
  };
}

function finishReason(reason: FinishReason, body: ChatBody): Ended['finish_reason'] {
  return reason === 'tool_calls' && usesFunctions(body) ? 'function_call' : reason;
}

type Piece = ChatCompletionChunk['choices'][number];

function chunk(
  reply: Reply,
  index: number,
  delta: Piece['delta'],
  extras: Partial<Piece> = {},
): ChatCompletionChunk {
  const choice = { index, delta, logprobs: null, finish_reason: null, matched_stop: null, ...extras };
  return { ...chunkHead(reply), choices: [choice] };
}

/** The first chunk of a choice. */
function roleChunk(reply: Reply, index: number) {
  const { promptIds } = reply.fold;
  const delta = { role: 'assistant', content: '' } as const;
  return chunk(reply, index, delta, promptIds && { prompt_token_ids: promptIds });
}

/**
 * A chunk with the progress of reading the prompt: `processed` of `total` tokens are read, `cache` of them came from the prefix
 * cache.
 */
function progressChunk(reply: Reply, processed: number): ChatCompletionChunk {
  const { promptTokens: total, cachedTokens: cache } = reply.fold;
  return { ...chunkHead(reply), choices: [], prompt_progress: { total, cache, processed } };
}

/** Returns the chunk of a part; null if the part has nothing that the client requested. */
function partChunk(reply: Reply, index: number, part: ReplyPart) {
  const { logprobs: wantsLogprobs, return_token_ids: wantsIds } = reply.body;
  const { ids, logprobs } = part;
  const isEmpty = part.kind !== 'call' && part.text === '';
  if (isEmpty && !(ids.length > 0 && (wantsIds || wantsLogprobs))) return null;
  return chunk(reply, index, deltaOf(part, reply.body), {
    logprobs: wantsLogprobs && logprobs.length > 0 ? toLogprobs(logprobs) : null,
    ...(wantsIds && { token_ids: ids }),
  });
}

function deltaOf(part: ReplyPart, body: ChatBody): Piece['delta'] {
  if (part.kind === 'content') return { content: part.text };
  if (part.kind === 'reasoning') return { reasoning_content: part.text, reasoning: part.text };
  const isCall = part.kind === 'call';
  const spoken = isCall ? { name: part.name, arguments: '' } : { arguments: part.text };
  if (usesFunctions(body)) return { function_call: spoken };
  const { call: index } = part;
  return {
    tool_calls: [
      isCall ? { index, id: part.id, type: 'function', function: spoken } : { index, function: spoken },
    ],
  };
}

/** Last chunks of a choice: its finish reason, then the members that the request asked for at its end. */
function endChunks(reply: Reply, index: number) {
  const { finishReason: reason, matchedStop, hiddenStates } = choiceAt(reply.fold, index);
  const ended = { finish_reason: finishReason(reason!, reply.body), matched_stop: matchedStop };
  const end = chunk(reply, index, {}, ended);
  return hiddenStates ? [end, chunk(reply, index, { hidden_states: hiddenStates })] : [end];
}

/** The last chunks of a stream. */
function lastChunks(reply: Reply, includeUsage: boolean): ChatCompletionChunk[] {
  const svcext = extensionsOf(reply.fold, reply.body);
  const head = { ...chunkHead(reply), choices: [] };
  return [
    ...(svcext ? [{ ...head, svcext }] : []),
    ...(includeUsage ? [{ ...head, usage: usageOf(reply.fold) }] : []),
  ];
}

function chunkHead({ head }: Reply) {
  return { ...head, object: 'chat.completion.chunk' as const };
}
