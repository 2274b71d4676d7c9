// The script of the page of shipped.test.ts: asks the shipped language model, and draws with the shipped image model.

import type { ImageModel, ImageRequest, TextEvent, TextModel } from '../../src/browser.ts';

export interface Reply {
  ids: number[];
  text: string;
  end: Extract<TextEvent, { type: 'done' }> | null;
}

export interface Drawn {
  /** Types of the events, without repetitions. */
  types: string[];
  /** Bytes of the image and of its previews, Uint8Arrays in the events. */
  image: number[] | null;
  previews: number[][];
  /** Code of the error that ended the events. */
  error: string | null;
}

declare global {
  var chat: TextModel;
  var scenes: ImageModel;
  /** Asks `chat` for a greedy reply; `stopAfter`: tokens after which the request is aborted. */
  var ask: (question: string, maxTokens: number, stopAfter?: number) => Promise<Reply>;
  /** Draws with `scenes`; `stopAfter`: steps after which the request is aborted. */
  var draw: (request: ImageRequest, stopAfter?: number) => Promise<Drawn>;
}

globalThis.ask = async (question, maxTokens, stopAfter) => {
  const controller = new AbortController();
  const reply: Reply = { ids: [], text: '', end: null };
  const messages = [{ role: 'user' as const, content: question }];
  const request = { prompt: { messages }, temperature: 0, maxTokens };
  for await (const event of chat.generate(request, { signal: controller.signal })) {
    if (event.type === 'done') reply.end = event;
    if (event.type !== 'delta') continue;
    reply.ids.push(...event.ids);
    reply.text += event.text;
    if (reply.ids.length === stopAfter) controller.abort();
  }
  return reply;
};

globalThis.draw = async (request, stopAfter) => {
  const controller = new AbortController();
  const drawn: Drawn = { types: [], image: null, previews: [], error: null };
  try {
    for await (const event of scenes.generate(request, { signal: controller.signal })) {
      if (drawn.types.at(-1) !== event.type) drawn.types.push(event.type);
      if (event.type === 'image') drawn.image = bytesOf(event.image.data);
      if (event.type === 'preview') drawn.previews.push(bytesOf(event.image.data));
      if (event.type === 'step' && event.step === stopAfter) controller.abort();
    }
  } catch (error) {
    if (!(error instanceof svc.EngineError)) throw error;
    drawn.error = error.code;
  }
  return drawn;
};

function bytesOf(data: unknown): number[] {
  if (!(data instanceof Uint8Array)) throw new TypeError('pixels are not a Uint8Array');
  return [...data];
}
