// One reply of a model: its events folded into what it said, thought and called.

import type { FinishReason, TextEvent, TextModel, TextRequest } from '../engine/text/calls/text-model.ts';
import { replyAborted, type WrittenCall } from './tool-calls.ts';

/** Numbers of tokens. */
export interface ReplyUsage {
  /** Tokens of the prompts of all rounds; `cachedTokens` of them were not computed again. */
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  /** Reasoning tokens among the completion's. */
  reasoningTokens: number;
}

export interface Round {
  text: string;
  reasoning: string;
  calls: WrittenCall[];
  finishReason: Exclude<FinishReason, 'abort'>;
  usage: ReplyUsage;
}

export type SpokenEvent = { type: 'delta'; text: string } | { type: 'reasoning'; text: string };

/** Runs a request with one choice. Throws EngineError: cancelled when `signal` aborts. */
export async function runRound(
  model: Pick<TextModel, 'generate'>,
  request: TextRequest,
  signal: AbortSignal,
  emit: (event: SpokenEvent) => void,
): Promise<Round> {
  const round: Round = { text: '', reasoning: '', calls: [], finishReason: 'stop', usage: noUsage() };
  if (signal.aborted) throw replyAborted();
  for await (const event of model.generate(request, { signal })) {
    if (event.type === 'delta' || event.type === 'reasoning') {
      round[event.type === 'delta' ? 'text' : 'reasoning'] += event.text;
      if (event.text !== '') emit({ type: event.type, text: event.text });
    } else if (event.type === 'toolCall') addCall(round.calls, event);
    else if (event.type === 'accepted') round.usage.promptTokens = event.promptTokens;
    else if (event.type === 'prefill') round.usage.cachedTokens = event.cachedTokens;
    else if (event.type === 'done') {
      if (event.finishReason === 'abort') {
        // A choice that the engine ended has an error, which generate() throws after this event.
        if (event.error) continue;
        throw replyAborted();
      }
      round.finishReason = event.finishReason;
      round.usage.completionTokens = event.completionTokens;
      round.usage.reasoningTokens = event.reasoningTokens ?? 0;
    }
  }
  return round;
}

function addCall(calls: WrittenCall[], event: Extract<TextEvent, { type: 'toolCall' }>): void {
  const call = (calls[event.call] ??= { id: event.id ?? '', name: event.name ?? '', arguments: '' });
  call.arguments += event.arguments;
}

export const noUsage = (): ReplyUsage => ({
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
});

export function addUsage(sum: ReplyUsage, more: ReplyUsage): void {
  for (const name of Object.keys(sum) as (keyof ReplyUsage)[]) sum[name] += more[name];
}
