// The engine's events folded into a chat completion. The streaming and the plain reply are two readings of one fold.

import type { FinishReason, TextEvent } from '../index.ts';

interface ReplyHead {
  id: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
  system_fingerprint: string;
}

interface Choice {
  text: string;
  tokens: number;
  finishReason: FinishReason | null;
  matchedStop: string | number | null;
}

export interface Reply {
  head: ReplyHead;
  choices: Choice[];
  promptTokens: number;
  cachedTokens: number;
}

interface Delta {
  role?: 'assistant';
  content?: string;
}

export function startReply(head: ReplyHead, n: number): Reply {
  const choices = Array.from({ length: n }, () => ({
    text: '',
    tokens: 0,
    finishReason: null,
    matchedStop: null,
  }));
  return { head, choices, promptTokens: 0, cachedTokens: 0 };
}

export function applyEvent(reply: Reply, event: TextEvent): void {
  if (event.type === 'accepted') {
    reply.promptTokens = event.promptTokens;
  } else if (event.type === 'prefill') {
    reply.cachedTokens = event.cachedTokens;
  } else if (event.type === 'delta') {
    const choice = choiceAt(reply, event.choice);
    choice.text += event.text;
    choice.tokens += event.ids.length;
  } else if (event.type === 'done') {
    const choice = choiceAt(reply, event.choice);
    choice.finishReason = event.finishReason;
    choice.matchedStop = event.matchedStop;
    choice.tokens = event.completionTokens;
  }
}

export function completionTokens(reply: Reply): number {
  return reply.choices.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** The prompt counts once however many choices it has. */
function usage(reply: Reply) {
  const generated = completionTokens(reply);
  return {
    prompt_tokens: reply.promptTokens,
    completion_tokens: generated,
    total_tokens: reply.promptTokens + generated,
    prompt_tokens_details: { cached_tokens: reply.cachedTokens },
    completion_tokens_details: { reasoning_tokens: 0 },
    reasoning_tokens: 0,
  };
}

export function completion(reply: Reply) {
  const { id, created, model, system_fingerprint } = reply.head;
  const choices = reply.choices.map(({ text, finishReason, matchedStop }, index) => ({
    index,
    message: { role: 'assistant', content: text, reasoning_content: null, tool_calls: null },
    logprobs: null,
    finish_reason: finishReason,
    matched_stop: matchedStop,
  }));
  return { id, object: 'chat.completion', created, model, system_fingerprint, choices, usage: usage(reply) };
}

/** One chunk of a stream. Without a delta: the chunk that says why the choice ended. */
export function choiceChunk(reply: Reply, index: number, delta: Delta | null, withUsage: boolean) {
  const { finishReason, matchedStop } = choiceAt(reply, index);
  const choice = {
    index,
    delta: delta ?? {},
    logprobs: null,
    finish_reason: delta === null ? finishReason : null,
    matched_stop: delta === null ? matchedStop : null,
  };
  return { ...chunkHead(reply), choices: [choice], ...(withUsage && { usage: usage(reply) }) };
}

/** The last chunk of a stream that was asked to report usage. */
export function usageChunk(reply: Reply) {
  return { ...chunkHead(reply), choices: [], usage: usage(reply) };
}

function chunkHead({ head: { id, created, model, system_fingerprint } }: Reply) {
  return { id, object: 'chat.completion.chunk', created, model, system_fingerprint };
}

function choiceAt(reply: Reply, index: number): Choice {
  const choice = reply.choices[index];
  if (!choice) throw new Error(`event for choice ${index} of ${reply.choices.length}`);
  return choice;
}
