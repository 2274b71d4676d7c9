// A chat completion and the chunks of its stream, read from the fold of the engine's events.

import type { FinishReason } from '../../index.ts';
import type { ChatCompletion, ChatCompletionChunk } from './chat-reply-schema.ts';
import type { ChatBody } from './chat-schema.ts';
import { toLogprobs } from '../text/logprobs.ts';
import {
  type Choice,
  choiceAt,
  type ExtensionWishes,
  extensionsOf,
  type Fold,
  usageOf,
} from '../text/reply-fold.ts';
import type { Part } from '../text/reply-parts.ts';

interface ReplyHead {
  id: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
  system_fingerprint: string;
}

/** Optional parts of the reply that the request asks for. */
interface Wishes extends ExtensionWishes {
  logprobs: boolean;
  tokenIds: boolean;
  /** The request uses the deprecated `functions` instead of `tools`, and so does the reply. */
  functions: boolean;
}

export interface Reply {
  head: ReplyHead;
  wishes: Wishes;
  fold: Fold;
}

export function wishesOf(body: ChatBody): Wishes {
  return {
    logprobs: body.logprobs ?? false,
    tokenIds: body.return_token_ids ?? false,
    functions: body.functions !== undefined,
    routedExperts: body.return_routed_experts ?? false,
    cachedDetails: body.return_cached_tokens_details ?? false,
  };
}

export function completion({ head, wishes, fold }: Reply): ChatCompletion {
  const { id, created, model, system_fingerprint } = head;
  const svcext = extensionsOf(fold, wishes);
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    system_fingerprint,
    choices: fold.choices.map((choice, index) => ({
      index,
      message: messageOf(choice, wishes),
      logprobs: wishes.logprobs ? toLogprobs(choice.logprobs) : null,
      finish_reason: finishReason(choice.finishReason!, wishes),
      matched_stop: choice.matchedStop,
      ...(choice.hiddenStates && { hidden_states: choice.hiddenStates }),
      ...(wishes.tokenIds && { token_ids: choice.ids }),
      ...(fold.promptIds && { prompt_token_ids: fold.promptIds }),
    })),
    usage: usageOf(fold),
    ...(svcext && { svcext }),
  };
}

type Ended = ChatCompletion['choices'][number];

function messageOf({ text, reasoning, calls }: Choice, { functions }: Wishes): Ended['message'] {
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

function finishReason(reason: FinishReason, { functions }: Wishes): Ended['finish_reason'] {
  return reason === 'tool_calls' && functions ? 'function_call' : reason;
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
export function roleChunk(reply: Reply, index: number) {
  const { promptIds } = reply.fold;
  const delta = { role: 'assistant', content: '' } as const;
  return chunk(reply, index, delta, promptIds && { prompt_token_ids: promptIds });
}

/**
 * A chunk with the progress of reading the prompt: `processed` of `total` tokens are read, `cache` of them came from the prefix
 * cache.
 */
export function progressChunk(reply: Reply, processed: number): ChatCompletionChunk {
  const { promptTokens: total, cachedTokens: cache } = reply.fold;
  return { ...chunkHead(reply), choices: [], prompt_progress: { total, cache, processed } };
}

/** Returns the chunk of a part; null if the part has nothing that the client requested. */
export function partChunk(reply: Reply, index: number, part: Part) {
  const { wishes } = reply;
  const { ids, logprobs } = part;
  const isEmpty = part.kind !== 'call' && part.text === '';
  if (isEmpty && !(ids.length > 0 && (wishes.tokenIds || wishes.logprobs))) return null;
  return chunk(reply, index, deltaOf(part, wishes), {
    logprobs: wishes.logprobs && logprobs.length > 0 ? toLogprobs(logprobs) : null,
    ...(wishes.tokenIds && { token_ids: ids }),
  });
}

function deltaOf(part: Part, { functions }: Wishes): Piece['delta'] {
  if (part.kind === 'content') return { content: part.text };
  if (part.kind === 'reasoning') return { reasoning_content: part.text, reasoning: part.text };
  const isCall = part.kind === 'call';
  const spoken = isCall ? { name: part.name, arguments: '' } : { arguments: part.text };
  if (functions) return { function_call: spoken };
  const { call: index } = part;
  return {
    tool_calls: [
      isCall ? { index, id: part.id, type: 'function', function: spoken } : { index, function: spoken },
    ],
  };
}

/** Last chunks of a choice: its finish reason, then the members that the request asked for at its end. */
export function endChunks(reply: Reply, index: number) {
  const { finishReason: reason, matchedStop, hiddenStates } = choiceAt(reply.fold, index);
  const end = chunk(
    reply,
    index,
    {},
    {
      finish_reason: finishReason(reason!, reply.wishes),
      matched_stop: matchedStop,
    },
  );
  return hiddenStates ? [end, chunk(reply, index, { hidden_states: hiddenStates })] : [end];
}

/** The last chunks of a stream. */
export function lastChunks(reply: Reply, includeUsage: boolean): ChatCompletionChunk[] {
  const svcext = extensionsOf(reply.fold, reply.wishes);
  const head = { ...chunkHead(reply), choices: [] };
  return [
    ...(svcext ? [{ ...head, svcext }] : []),
    ...(includeUsage ? [{ ...head, usage: usageOf(reply.fold) }] : []),
  ];
}

function chunkHead({ head: { id, created, model, system_fingerprint } }: Reply) {
  return { id, object: 'chat.completion.chunk' as const, created, model, system_fingerprint };
}
