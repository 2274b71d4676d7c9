// Events of one request that its reader has not taken yet, fewer of them: text goes on in the event before. Every token stays in
// one event, and the order within a choice is kept.

import type { TextEvent } from './text-model.ts';

/** Both as one event; null: they stay apart; undefined: they do not meet, an earlier one may. */
export function mergeEvents(before: TextEvent, next: TextEvent): TextEvent | null | undefined {
  if (next.type === 'prefill') return before.type === 'prefill' ? next : undefined;
  if (next.type === 'accepted' || next.type === 'prompt') return null;
  if (before.type === 'accepted' || before.type === 'prefill' || before.type === 'prompt') return undefined;
  if (before.choice !== next.choice) return undefined;
  const generated = {
    ids: [...idsOf(before), ...idsOf(next)],
    ...logprobsOf(before, next),
  };
  if (next.type === 'toolCall') {
    const goesOn = before.type === 'toolCall' && before.call === next.call && next.name === undefined;
    return goesOn ? { ...before, ...generated, arguments: before.arguments + next.arguments } : null;
  }
  if (next.type === 'done' || before.type !== next.type) return null;
  return { ...before, ...generated, text: before.text + next.text };
}

function idsOf(event: TextEvent): number[] {
  return 'ids' in event ? event.ids : [];
}

function logprobsOf(
  before: TextEvent,
  next: TextEvent,
): Pick<Extract<TextEvent, { type: 'delta' }>, 'logprobs'> {
  if (!('ids' in before && 'ids' in next) || !next.logprobs) return {};
  return { logprobs: [...(before.logprobs ?? []), ...next.logprobs] };
}
