// What a text model answers, over its scheduler and its loop: admits requests and passes on their events.

import { EngineError } from '../../files/error.ts';
import { onAbort } from '../async/abort-listeners.ts';
import { filledText, flag, listOf, objectOf, text as textRule, whole } from '../input/rules.ts';
import type { ServedDevice, Service } from '../opening/served.ts';
import { EventQueue } from '../async/event-queue.ts';
import { noLoras, type Lora } from './lora/loras.ts';
import { gaveWay, LiveRequests, type LiveOptions, type LiveRequest } from './run/live-requests.ts';
import type { LoadedText } from './load.ts';
import { mergeEvents } from './run/merge-events.ts';
import { textMetrics, type MetricsSources } from './metrics.ts';
import { prepareReply } from './request/prepare-reply.ts';
import { renderPrompt } from './request/prompt.ts';
import { createSequences } from './request/sequences.ts';
import { sourceRequest } from './request/source-prompt.ts';
import type { TileLimits } from '../../models/media.ts';
import type {
  LoraInfo,
  MediaTokens,
  TextEvent,
  TextMetrics,
  TextModel,
  TextModelInfo,
  TextPrompt,
  TextRequest,
} from './calls/text-model.ts';
import { checkTextRequest, TILE_LIMITS } from './request/text-rules.ts';

export interface TextModelParts extends MetricsSources {
  info: TextModelInfo;
  timeouts: Pick<LiveOptions, 'queueTimeout' | 'totalTimeout'>;
}

export class LocalTextModel implements Service<TextModel> {
  readonly info: TextModelInfo;
  readonly #parts: TextModelParts;
  readonly #session: ServedDevice<LoadedText>;
  readonly #live: LiveRequests;

  constructor(parts: TextModelParts) {
    this.info = parts.info;
    this.#parts = parts;
    this.#session = parts.session;
    this.#live = new LiveRequests({
      ...parts.timeouts,
      end: (request, error) => this.#end(request, error),
    });
    parts.session.defer(() => parts.loop.close());
  }

  async *generate(
    asked: TextRequest,
    { signal }: { signal?: AbortSignal } = {},
  ): AsyncGenerator<TextEvent, void, void> {
    const { context, loras } = this.#parts;
    checkTextRequest(asked, context.vocabulary);
    const request = sourceRequest(asked, context.source);
    this.#placeFor(request);
    const live = this.#live.enter(request);
    // Until there are sequences, an abort cancels the preparation, which then throws; later it ends the sequences with the reason `abort`.
    const abort = (): void => this.#end(live);
    if (signal?.aborted) live.abort.abort();
    let stopListening = onAbort(signal, () => live.abort.abort());
    let lora: Lora | null = null;
    try {
      if (request.lora !== undefined) lora = await loras.acquire(request.lora);
      const events = new EventQueue(mergeEvents);
      const end = { signal, ended: live.abort.signal };
      const prepared = await prepareReply(request, lora, context, end).catch((error: unknown) => {
        throw live.ended?.error ?? error;
      });
      const { media, source } = prepared.prompt;
      const ids = source ? [...source.ids] : prepared.prompt.ids;
      const { compileMs, unenforced } = prepared.grammars;
      const emit = untilAllDone(events, request.n ?? 1);
      const sequences = createSequences(request, prepared, context, emit);
      this.#displace(this.#placeFor(request)); // other requests may have arrived since the first check
      events.push({
        type: 'accepted',
        promptTokens: ids.length,
        maxTokens: sequences[0]!.request.maxTokens,
        ...(media && { mediaTokens: media.tokens }),
        ...(media && media.seconds > 0 && { seconds: media.seconds }),
        ...(request.promptIds && { promptIds: ids }),
        ...(compileMs !== null && { compileMs }),
        ...(unenforced.length > 0 && { unenforced }),
      });
      live.sequences = sequences;
      stopListening();
      stopListening = onAbort(signal, abort);
      await this.#schedule(live, lora);
      yield* events.read();
    } finally {
      stopListening();
      abort();
      live.leave();
      if (lora) loras.release(lora);
    }
  }

  async renderPrompt(
    prompt: TextPrompt,
    limits: TileLimits = {},
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<{ text: string; ids: number[]; mediaTokens?: MediaTokens }> {
    objectOf(TILE_LIMITS)(limits, 'limits');
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const stopListening = onAbort(signal, end);
    if (signal?.aborted) end();
    try {
      const { context } = this.#parts;
      const { text, source, media, ...rendered } = await renderPrompt(prompt, context, limits, {
        signal,
        ended: ended.signal,
      });
      const ids = source ? [...source.ids] : rendered.ids;
      return { text, ids, ...(media && { mediaTokens: media.tokens }) };
    } finally {
      stopListening();
      end();
    }
  }

  async tokenize(text: string, options: { addSpecialTokens?: boolean } = {}): Promise<number[]> {
    textRule(text, 'text');
    objectOf({ addSpecialTokens: flag })(options, 'options');
    return this.#parts.context.tokenizer.encode(text, options);
  }

  async detokenize(ids: number[], options: { skipSpecialTokens?: boolean } = {}): Promise<string> {
    listOf(whole(0, this.info.vocabSize - 1))(ids, 'ids');
    objectOf({ skipSpecialTokens: flag })(options, 'options');
    return this.#parts.context.tokenizer.decode(ids, { skipSpecialTokens: false, ...options });
  }

  async metrics(): Promise<TextMetrics> {
    return textMetrics(this.#parts);
  }

  async abort(id: string): Promise<number> {
    filledText(id, 'id');
    const ending = this.#live.named(id).filter((request) => !request.ended);
    for (const request of ending) this.#end(request);
    return ending.length;
  }

  async flushCache(): Promise<boolean> {
    const isFlushed = this.#parts.scheduler.flush();
    if (isFlushed) this.#parts.context.grammars.clear();
    return isFlushed;
  }

  async loadedLoras(): Promise<LoraInfo[]> {
    return this.#parts.loras.list();
  }

  async loadLora(name: string, path: string): Promise<LoraInfo[]> {
    filledText(name, 'name');
    filledText(path, 'path');
    if (this.#parts.context.source) throw noLoras('path');
    return this.#parts.loras.load(name, path);
  }

  async unloadLora(name: string): Promise<LoraInfo[]> {
    filledText(name, 'name');
    return this.#parts.loras.unload(name);
  }

  /** Returns the request that must leave the full queue for this one, or null. Throws overloaded if none can be displaced. */
  #placeFor(request: TextRequest): LiveRequest | null {
    this.#session.assertOpen();
    // Requests that will get the free slots at the next step do not count as waiting.
    const { maxRunningRequests, maxQueuedRequests } = this.info;
    const slots = maxRunningRequests - this.#parts.scheduler.running.length;
    return this.#live.placeFor(request, maxQueuedRequests + slots);
  }

  #displace(request: LiveRequest | null): void {
    if (request) this.#end(request, gaveWay());
  }

  /** Adds a request's sequences to the scheduler, unless the request ended while its pages were fetched. */
  async #schedule(live: LiveRequest, lora: Lora | null): Promise<void> {
    const { scheduler, loop, tiers } = this.#parts;
    await tiers?.fetch(live.sequences[0]!);
    if (lora?.lost) throw lora.lost;
    for (const sequence of live.sequences) {
      sequence.acceptForced();
      if (!sequence.finished && !live.ended && !this.#session.isClosed) scheduler.add(sequence);
    }
    if (live.ended || this.#session.isClosed) this.#end(live, live.ended?.error);
    loop.wake();
  }

  #end(request: LiveRequest, error?: EngineError): void {
    request.ended ??= error ? { error } : {};
    request.abort.abort(error);
    this.#parts.loop.abort(request.sequences, error);
  }
}

/** Passes on the events of all choices and ends them after the last choice, with the first error of a choice, if any. */
function untilAllDone(events: EventQueue<TextEvent>, choices: number): (event: TextEvent) => void {
  let open = choices;
  let failure: EngineError | null = null;
  return (event) => {
    events.push(event);
    if (event.type !== 'done') return;
    if (event.error && !failure) {
      const { code, message, parts, param } = event.error;
      failure = new EngineError(code, parts ? { parts } : message, param === undefined ? {} : { param });
    }
    if (--open > 0) return;
    if (failure) events.fail(failure);
    else events.close();
  };
}
