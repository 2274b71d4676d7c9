// A chat completion as server-sent events. The engine is never held up by a slow reader: text it has no room for waits
// here and goes out in one larger chunk.

import type { TextEvent } from '../index.ts';
import { type ErrorReply, isUnforeseen, toErrorReply } from './errors.ts';
import { applyEvent, choiceChunk, type Reply, usageChunk } from './reply.ts';
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
  const held = new Map<number, string>();
  const flush = () => {
    // Emptied first: sending may ask for more at once.
    const waiting = [...held];
    held.clear();
    for (const [choice, content] of waiting)
      stream.send(choiceChunk(reply, choice, { content }, continuousUsage));
  };
  const stream = createEventStream({ keepAlive, onRoom: flush, onCancel });

  const forward = async () => {
    for await (const event of events) {
      applyEvent(reply, event);
      if (event.type === 'delta' && event.text !== '') {
        held.set(event.choice, (held.get(event.choice) ?? '') + event.text);
        if (stream.room()) flush();
      } else if (event.type === 'done') {
        flush();
        stream.send(choiceChunk(reply, event.choice, null, continuousUsage));
      }
    }
    if (includeUsage) stream.send(usageChunk(reply));
  };

  for (const index of reply.choices.keys()) {
    stream.send(choiceChunk(reply, index, { role: 'assistant', content: '' }, continuousUsage));
  }
  forward()
    .catch((error: unknown) => {
      if (isUnforeseen(error)) log.error(error);
      flush();
      const { body } = toErrorReply(error);
      onFailure(body.error);
      stream.send(body);
    })
    .finally(() => stream.end());
  return stream.body;
}
