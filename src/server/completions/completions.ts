// POST /v1/completions: continues texts without a chat template.

import { renameParam } from '../body/renamed.ts';
import { MARKED_EVENTS } from '../http/sse.ts';
import { underFieldName } from '../text/generation-request.ts';
import { replyHead, textRoute } from '../text/text-interface.ts';
import { CompletionForm } from './completion-reply.ts';
import { checkTogether, toCompletions, COMPLETION_FIELDS } from './completion-request.ts';

export const COMPLETIONS = textRoute({
  summary:
    'Completions: continues texts or token ids without a chat template; lists of prompts, `echo`, `suffix`, `logprobs`.',
  group: 'Text',
  fields: COMPLETION_FIELDS,
  required: ['prompt', 'model'],
  checkTogether,
  reply: 'Completion',
  event: 'CompletionEvent',
  schemas: [() => import('./completion-reply-schema.ts')],
  framing: MARKED_EVENTS,
  async answer(asked) {
    const { body, model, adapter } = asked;
    const prompts = await toCompletions(body, model, adapter);
    const head = replyHead('cmpl', 'text_completion', asked);
    const echoes = prompts.map(({ echo }) => echo);
    return {
      requests: prompts.map(({ request }) => request),
      rename: (error) => renameParam(underFieldName(error, body), [['max_completion_tokens', 'max_tokens']]),
      isStream: body.stream ?? false,
      form: (call, send) => new CompletionForm({ head, call, echoes, body }, send),
    };
  },
});
