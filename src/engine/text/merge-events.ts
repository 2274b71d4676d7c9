// Merges events of one request that its reader has not taken yet: text is appended to the event before. Every token stays in exactly
// one event, and the order within a choice is kept.

import type { TextEvent } from './text-model.ts';

type Generated = Extract<TextEvent, { ids: number[] }>;

/**
 * `before` with what `next` adds; null: they stay apart; undefined: they do not meet, an earlier one may. `before` itself grows, so
 * that a long text nobody reads costs no more at its end than at its beginning.
 */
export function mergeEvents(before: TextEvent, next: TextEvent): TextEvent | null | undefined {
  if (next.type === 'prefill') return before.type === 'prefill' ? next : undefined;
  if (next.type === 'accepted' || next.type === 'prompt') return null;
  if (before.type === 'accepted' || before.type === 'prefill' || before.type === 'prompt') return undefined;
  if (before.choice !== next.choice) return undefined;
  if (next.type === 'toolCall') {
    if (before.type !== 'toolCall' || before.call !== next.call || next.name !== undefined) return null;
    before.arguments += next.arguments;
    return withTokens(before, next);
  }
  if (next.type === 'done' || before.type !== next.type) return null;
  before.text += next.text;
  return withTokens(before, next);
}

function withTokens(before: Generated, { ids, logprobs }: Generated): Generated {
  for (const id of ids) before.ids.push(id);
  for (const one of logprobs ?? []) (before.logprobs ??= []).push(one);
  return before;
}
