// Text that goes on: without a chat template, from a text, from token ids, or between a prefix and a suffix.

import { badRequest } from '../files/error.ts';
import type { TextConstraint, TextModel, TextPrompt, TextRequest } from '../engine/text/calls/text-model.ts';
import type { ReplyOptions } from './chat-types.ts';
import { infillPrompt } from './infill.ts';
import { ReplyStream } from './reply-stream.ts';
import { runRound, type ReplyUsage } from './round.ts';

/** `suffix`: the text is written between the two, by models that were trained to fill in the middle. */
export type CompletionPrompt = string | readonly number[] | { prefix: string; suffix: string };

export interface CompletionOptions extends ReplyOptions {
  constraint?: TextConstraint;
  signal?: AbortSignal;
}

export interface Completion {
  text: string;
  finishReason: 'stop' | 'length';
  usage: ReplyUsage;
}

export type CompletionEvent = { type: 'delta'; text: string } | { type: 'done'; completion: Completion };

export type CompletionStream = ReplyStream<Completion, CompletionEvent>;

export function complete(
  model: Pick<TextModel, 'info' | 'generate' | 'tokenize'>,
  prompt: CompletionPrompt,
  { signal: given, ...options }: CompletionOptions = {},
): CompletionStream {
  checkCompletion(prompt);
  return new ReplyStream<Completion, CompletionEvent>(async (emit, signal) => {
    const request: TextRequest = { ...options, ...(await promptOf(model, prompt, options.stopTokenIds)) };
    const round = await runRound(model, request, signal, (event) => {
      if (event.type === 'delta') emit({ type: 'delta', text: event.text });
    });
    const { text, usage, finishReason } = round;
    const completion: Completion = {
      text,
      finishReason: finishReason === 'length' ? 'length' : 'stop',
      usage,
    };
    emit({ type: 'done', completion });
    return completion;
  }, given);
}

async function promptOf(
  model: Pick<TextModel, 'info' | 'tokenize'>,
  prompt: CompletionPrompt,
  stops: readonly number[] = [],
): Promise<{ prompt: TextPrompt; stopTokenIds?: number[] }> {
  if (typeof prompt === 'string') return { prompt: { text: prompt } };
  if (!('prefix' in prompt)) return { prompt: { ids: [...prompt] } };
  const { text, stopTokenIds } = await infillPrompt(model, prompt.prefix, prompt.suffix);
  return { prompt: { text }, stopTokenIds: [...new Set([...stops, ...stopTokenIds])] };
}

function checkCompletion(prompt: unknown): void {
  if (typeof prompt === 'string' || Array.isArray(prompt)) return;
  const { prefix, suffix } = (prompt ?? {}) as { prefix?: unknown; suffix?: unknown };
  if (typeof prefix !== 'string' || typeof suffix !== 'string')
    throw badRequest(
      'the prompt of a completion is neither a text, nor token ids, nor { prefix, suffix }: give one of them',
      'prompt',
    );
}
