// POST /v1/chat/completions.

import { MARKED_EVENTS } from '../http/sse.ts';
import { replyHead, textRoute } from '../text/text-interface.ts';
import { askChecked } from './chat-request.ts';
import { CHAT_RULES } from './chat-schema.ts';
import { chatForm } from './chat-reply.ts';

export const CHAT = textRoute({
  summary: 'Chat completions: a reply to a conversation, streaming or not; the fields stand below.',
  group: 'Text',
  ...CHAT_RULES,
  reply: 'ChatCompletion',
  event: 'ChatCompletionEvent',
  schemas: [() => import('./chat-reply-schema.ts')],
  framing: MARKED_EVENTS,
  async answer(asked) {
    const { body } = asked;
    const head = replyHead('chatcmpl', 'chat.completion', asked);
    const { request, rename } = await askChecked(asked, body, (named) => ({ ...named, id: head.id }));
    return {
      requests: [request],
      rename,
      isStream: body.stream ?? false,
      form: ({ runs }, send) => chatForm({ head, fold: runs[0]!.fold, body }, send),
    };
  },
});
