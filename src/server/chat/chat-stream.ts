// A chat completion as server-sent events: chunks, and the end marker.

import { toErrorReply } from '../errors.ts';
import { usageOf } from '../text/reply-fold.ts';
import { endChunks, lastChunks, partChunk, progressChunk, type Reply, roleChunk } from './chat-reply.ts';
import type { Send, StreamForm } from '../text/text-stream.ts';

interface ChatFormOptions {
  includeUsage: boolean;
  continuousUsage: boolean;
  progress: boolean;
}

export function chatForm(
  reply: Reply,
  { includeUsage, continuousUsage, progress }: ChatFormOptions,
  write: Send,
): StreamForm {
  const { fold } = reply;
  const send = (chunk: object) => write(continuousUsage ? { ...chunk, usage: usageOf(fold) } : chunk);
  return {
    marker: true,
    begin() {
      for (const index of fold.choices.keys()) send(roleChunk(reply, index));
    },
    ...(progress && { progress: (_, processed) => send(progressChunk(reply, processed)) }),
    part(choice, part) {
      const chunk = partChunk(reply, choice, part);
      if (chunk) send(chunk);
    },
    end: (choice) => endChunks(reply, choice).forEach(send),
    finish(error) {
      lastChunks(reply, includeUsage).forEach((chunk) => write(chunk));
      if (error === undefined) return null;
      const { body } = toErrorReply(error);
      write(body);
      return body.error;
    },
  };
}
