// The embedding model of one thread: it checks and tokenizes requests, and its queue computes their texts.

import { EngineError } from '../../files/error.ts';
import { cancelled, onAbort } from '../async/abort-listeners.ts';
import { closedError } from '../async/cancelled.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import { flag, listOf, objectOf, text as textRule, whole } from '../input/rules.ts';
import { EventQueue } from '../async/event-queue.ts';
import type { ServedDevice, Service } from '../opening/served.ts';
import { overloaded } from '../async/wait-queue.ts';
import type {
  EmbeddingEvent,
  EmbeddingMetrics,
  EmbeddingModel,
  EmbeddingModelInfo,
  EmbeddingRequest,
} from './embedding-model.ts';
import { checkEmbeddingRequest } from './embedding-rules.ts';
import { requestTokens, type InputTokens, type TextEncoder } from './request-tokens.ts';
import type { LoadedEmbedding } from './runner.ts';
import { shapedValues } from './scores.ts';
import { TextQueue, type QueuedText } from './text-queue.ts';

export class LocalEmbeddingModel implements Service<EmbeddingModel> {
  readonly info: EmbeddingModelInfo;
  readonly #tokenizer: Tokenizer;
  readonly #encoder: TextEncoder;
  readonly #session: ServedDevice<LoadedEmbedding>;
  readonly #texts: TextQueue;
  /** Number of requests that run or wait. */
  #requests = 0;

  /** `encoder`: what makes tokens of the texts of requests; left out: the tokenizer. */
  constructor(
    info: EmbeddingModelInfo,
    tokenizer: Tokenizer,
    session: ServedDevice<LoadedEmbedding>,
    encoder: TextEncoder = tokenizer,
  ) {
    this.info = info;
    this.#tokenizer = tokenizer;
    this.#encoder = encoder;
    this.#session = session;
    this.#texts = new TextQueue(session);
    session.defer(() => this.#texts.end(closedError()));
  }

  async *generate(
    request: EmbeddingRequest,
    { signal }: { signal?: AbortSignal } = {},
  ): AsyncGenerator<EmbeddingEvent, void, void> {
    const { info } = this;
    this.#session.assertOpen();
    checkEmbeddingRequest(request, info);
    if (signal?.aborted) throw cancelled();
    // The limit does not count the request that is being computed.
    if (this.#requests > info.maxQueuedRequests) throw overloaded(this.#requests - 1);
    const inputs = requestTokens(request, this.#encoder, info);
    const events = new EventQueue<EmbeddingEvent>();
    const leaving = new AbortController();
    const texts = queuedTexts(inputs, events, leaving.signal, (values) =>
      shapedValues(values, request, info),
    );
    const leave = (): void => {
      leaving.abort();
      this.#texts.remove(texts);
      events.fail(new EngineError('cancelled', 'the request was cancelled'));
    };
    const stopListening = onAbort(signal, leave);
    this.#requests += 1;
    try {
      yield { type: 'accepted', tokens: inputs.map(({ ids }) => ids.length) };
      if (this.#session.isClosed) throw closedError();
      this.#texts.add(texts);
      yield* events.read();
    } finally {
      this.#requests -= 1;
      stopListening();
      leave();
    }
  }

  async tokenize(text: string, options: { addSpecialTokens?: boolean } = {}): Promise<number[]> {
    textRule(text, 'text');
    objectOf({ addSpecialTokens: flag })(options, 'options');
    return this.#tokenizer.encode(text, options);
  }

  async detokenize(ids: number[], options: { skipSpecialTokens?: boolean } = {}): Promise<string> {
    listOf(whole(0, this.info.vocabSize - 1))(ids, 'ids');
    objectOf({ skipSpecialTokens: flag })(options, 'options');
    return this.#tokenizer.decode(ids, { skipSpecialTokens: false, ...options });
  }

  async metrics(): Promise<EmbeddingMetrics> {
    return this.#texts.metrics;
  }
}

/** Adds the texts of a request to the queue; their vectors become events, which end after the last one. */
function queuedTexts(
  inputs: readonly InputTokens[],
  events: EventQueue<EmbeddingEvent>,
  leaving: AbortSignal,
  shape: (vector: Float32Array) => Float32Array,
): QueuedText[] {
  let pending = inputs.length;
  return inputs.map((tokens, index) => ({
    ...tokens,
    give(vector) {
      events.push({ type: 'embedding', index, values: shape(vector) });
      if (--pending === 0) events.close();
    },
    fail: events.fail,
    wanted: () => !leaving.aborted,
  }));
}
