// Merges events of one request that its reader has not consumed yet: text is appended to the preceding event. Every token stays in
// exactly one event, and the order within a choice is preserved.

import type { TextEvent } from '../calls/text-model.ts';

type Generated = Extract<TextEvent, { ids: number[] }>;

/**
 * Returns `before` extended by `next`; null if the two must stay separate; undefined if they are unrelated, so that an earlier
 * event may match. `before` is mutated, so that appending costs the same however long the unread text is.
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
