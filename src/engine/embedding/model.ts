// The embedding model of one thread: it checks and tokenizes requests, and its queue computes their texts.

import { badRequest, EngineError } from '../../files/error.ts';
import { cancelled, onAbort } from '../async/abort-listeners.ts';
import { closedError } from '../async/cancelled.ts';
import { checkRows } from '../../files/tokenizer/token-ids.ts';
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
import type { LoadedEmbedding } from './runner.ts';
import { TextQueue, type QueuedText } from './text-queue.ts';

export class LocalEmbeddingModel implements Service<EmbeddingModel> {
  readonly info: EmbeddingModelInfo;
  readonly #tokenizer: Tokenizer;
  readonly #session: ServedDevice<LoadedEmbedding>;
  readonly #texts: TextQueue;
  /** Number of requests that run or wait. */
  #requests = 0;

  constructor(info: EmbeddingModelInfo, tokenizer: Tokenizer, session: ServedDevice<LoadedEmbedding>) {
    this.info = info;
    this.#tokenizer = tokenizer;
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
    const inputs = request.inputs.map((input, index) => tokensOf(input, index, this.#tokenizer, info));
    const events = new EventQueue<EmbeddingEvent>();
    const leaving = new AbortController();
    const texts = queuedTexts(inputs, events, leaving.signal, (vector) =>
      shaped(vector, request.dimensions, info.normalized),
    );
    const leave = (): void => {
      leaving.abort();
      this.#texts.remove(texts);
      events.fail(new EngineError('cancelled', 'the request was cancelled'));
    };
    const stopListening = onAbort(signal, leave);
    this.#requests += 1;
    try {
      yield { type: 'accepted', tokens: inputs.map(({ length }) => length) };
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
  inputs: readonly (readonly number[])[],
  events: EventQueue<EmbeddingEvent>,
  leaving: AbortSignal,
  shape: (vector: Float32Array) => Float32Array,
): QueuedText[] {
  let pending = inputs.length;
  return inputs.map((ids, index) => ({
    ids,
    give(vector) {
      events.push({ type: 'embedding', index, values: shape(vector) });
      if (--pending === 0) events.close();
    },
    fail: events.fail,
    wanted: () => !leaving.aborted,
  }));
}

/** Token ids are used unchanged; a text gets the tokenizer's special tokens. */
function tokensOf(
  input: string | number[],
  index: number,
  tokenizer: Tokenizer,
  { contextLength, vocabSize }: EmbeddingModelInfo,
): number[] {
  const ids = typeof input === 'string' ? tokenizer.encode(input) : input;
  const param = `inputs.${index}`;
  if (ids.length === 0) {
    throw badRequest(`${param} has no tokens: send a text that is not empty`, param);
  }
  checkRows(ids, vocabSize, param);
  if (ids.length <= contextLength) return ids;
  throw new EngineError(
    'context_length_exceeded',
    `${param} has ${ids.length} tokens and the model takes ${contextLength}: shorten it or send it in parts`,
    { param },
  );
}

/** Returns the first `dimensions` values, scaled to length one if the model's vectors are or if values were cut. */
function shaped(vector: Float32Array, dimensions: number | undefined, normalized: boolean): Float32Array {
  const values = dimensions === undefined ? vector : vector.slice(0, dimensions);
  if (!normalized && values.length === vector.length) return values;
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? values : values.map((value) => value / length);
}
