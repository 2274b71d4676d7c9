// A transcription as server-sent events: the text of each segment as it is written, and the whole.

import type { H3Event } from 'h3';
import type { TranscriptionEvent } from '../../index.ts';
import { isUnforeseen, toErrorReply } from '../http/errors.ts';
import { createEventStream, EVENTS } from '../http/sse.ts';
import type { Service } from '../service/service.ts';
import { usageOf } from './audio-usage.ts';

const KEEP_ALIVE = 5000;

/** Throws what the model throws before the sound is decoded. */
export async function streamTranscription(
  { options, log }: Service,
  event: H3Event,
  events: AsyncGenerator<TranscriptionEvent, void, void>,
  abort: AbortController,
): Promise<ReadableStream<Uint8Array>> {
  const first = await events.next();
  for (const [name, value] of Object.entries(EVENTS.headers)) event.res.headers.set(name, value);
  const { keepAlive = KEEP_ALIVE } = options;
  const stream = createEventStream({ keepAlive, onRoom: () => {}, onCancel: () => abort.abort() });
  const send = (type: string, more: object): void => stream.send({ type, ...more }, type);
  const forward = async (): Promise<void> => {
    let text = '';
    for await (const made of events) {
      if (made.type !== 'segment' && made.type !== 'delta') continue;
      const written = made.type === 'delta' ? made.text : made.segment.text;
      const delta = text === '' ? written.trimStart() : written;
      if (delta === '') continue;
      text += delta;
      send('transcript.text.delta', { delta });
    }
    const seconds = first.value?.type === 'accepted' ? first.value.seconds : 0;
    send('transcript.text.done', { text: text.trimEnd(), usage: usageOf(seconds) });
  };
  forward()
    .catch((error: unknown) => {
      if (isUnforeseen(error)) log.error(error);
      stream.send({ type: 'error', ...toErrorReply(error).body }, 'error');
    })
    .finally(() => stream.end());
  return stream.body;
}
