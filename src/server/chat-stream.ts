// A chat completion as server-sent events. The engine is never held up by a slow reader: what it has no room for waits here and
// goes out in fewer, larger chunks.

import type { TextEvent } from '../index.ts';
import { type ErrorReply, isUnforeseen, toErrorReply } from './errors.ts';
import { applyEvent, choiceAt, usageOf } from './reply-fold.ts';
import { createHeldParts } from './reply-parts.ts';
import { endChunks, isGenerated, lastChunks, partChunk, type Reply, roleChunk } from './reply.ts';
import type { Log } from './service.ts';
import { createEventStream } from './sse.ts';

interface ChatStreamOptions {
  /** Milliseconds of silence after which a comment is sent. */
  keepAlive: number;
  includeUsage: boolean;
  continuousUsage: boolean;
  /** The reader has gone. */
  onCancel: () => void;
  /** The stream ends with this error, under a status that said otherwise. */
  onFailure: (error: ErrorReply['body']['error']) => void;
  log: Log;
}

export function streamReply(
  reply: Reply,
  events: AsyncIterable<TextEvent>,
  { keepAlive, includeUsage, continuousUsage, onCancel, onFailure, log }: ChatStreamOptions,
): ReadableStream<Uint8Array> {
  const { fold } = reply;
  const held = createHeldParts();
  const send = (chunk: object) => stream.send(continuousUsage ? { ...chunk, usage: usageOf(fold) } : chunk);
  const flush = () => {
    for (const [choice, part] of held.take()) {
      const chunk = partChunk(reply, choice, part);
      if (chunk) send(chunk);
    }
  };
  const endChoice = (index: number) => {
    flush();
    endChunks(reply, index).forEach(send);
  };
  const stream = createEventStream({ keepAlive, onRoom: flush, onCancel });

  const forward = async () => {
    for await (const event of events) {
      applyEvent(fold, event);
      if (event.type === 'done') endChoice(event.choice);
      else if (isGenerated(event)) {
        held.add(event);
        if (stream.room()) flush();
      }
    }
  };
  /** Every choice has an end, and the stream has one, whatever happened. */
  const finish = (error?: unknown) => {
    for (const index of fold.choices.keys()) {
      const choice = choiceAt(fold, index);
      if (choice.finishReason !== null) continue;
      choice.finishReason = 'abort';
      endChoice(index);
    }
    lastChunks(reply, includeUsage).forEach((chunk) => stream.send(chunk));
    if (error === undefined) return;
    if (isUnforeseen(error)) log.error(error);
    const { body } = toErrorReply(error);
    onFailure(body.error);
    stream.send(body);
  };

  for (const index of fold.choices.keys()) send(roleChunk(reply, index));
  forward()
    .then(() => finish(fold.error), finish)
    .finally(() => stream.end());
  return stream.body;
}
