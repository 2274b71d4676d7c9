// Images as server-sent events: previews, each final image, and progress in comments. A slow reader never delays the engine:
// previews that do not fit its buffer are skipped.

import type { ImageEvent } from '../../index.ts';
import { isUnforeseen, toErrorReply } from '../http/errors.ts';
import { applyImageEvent, type ImageReply, previewOf, usageOf } from './image-reply.ts';
import type { Log } from '../http/request-log.ts';
import { createEventStream } from '../http/sse.ts';
import type { Turn } from '../service/turns.ts';

interface ImageStreamOptions {
  /** Prefix of the events' names. */
  name: 'image_generation' | 'image_edit';
  /** Limit on the previews of an image. */
  previews: number;
  /** The place of the request in the queue. */
  turn: Turn;
  /** Milliseconds of silence after which a comment is sent. */
  keepAlive: number;
  /** The reader has gone. */
  onCancel: () => void;
  log: Log;
}

export function streamImages(
  reply: ImageReply,
  events: AsyncIterable<ImageEvent>,
  { name, previews, turn, keepAlive, onCancel, log }: ImageStreamOptions,
): ReadableStream<Uint8Array> {
  const stream = createEventStream({ keepAlive, onRoom: () => {}, onCancel });
  /** Number of previews sent, by image. */
  const shown = new Map<number, number>();
  const send = (kind: 'partial_image' | 'completed', more: object) => {
    const { created, format, size } = reply;
    const common = {
      created_at: created,
      size,
      quality: 'auto',
      background: 'opaque',
      output_format: format,
    };
    const type = `${name}.${kind}`;
    stream.send({ type, ...more, ...common }, type);
  };

  const forward = async () => {
    for await (const event of events) {
      const image = await applyImageEvent(reply, event);
      if (image && event.type === 'image') {
        const words = reply.unknownWords.length > 0 && { unknown_words: reply.unknownWords };
        const usage = usageOf(reply, 1);
        send('completed', { ...image, image_index: event.sample, usage, ...words });
      } else if (event.type === 'preview') {
        const index = shown.get(event.sample) ?? 0;
        if (index >= previews || !stream.room()) continue;
        shown.set(event.sample, index + 1);
        const b64_json = await previewOf(reply, event.image);
        send('partial_image', { b64_json, partial_image_index: index, image_index: event.sample });
      } else if (event.type === 'step' && stream.room()) {
        stream.comment(`image ${event.sample + 1}, step ${event.step} of ${event.steps}`);
      }
    }
  };

  const showPlace = (ahead: number): void =>
    stream.comment(ahead > 0 ? `waiting for ${ahead} before` : 'drawing');
  showPlace(turn.ahead);
  turn.onMove = showPlace;
  forward()
    .catch((error: unknown) => {
      if (isUnforeseen(error)) log.error(error);
      stream.send({ type: 'error', ...toErrorReply(error).body }, 'error');
    })
    .finally(() => stream.end());
  return stream.body;
}
