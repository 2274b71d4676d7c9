// The EmbeddingModel face over a runner: texts of all requests wait in one line, and each pass takes those that go together.

import { EngineError } from '../../files/error.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import { overloaded } from '../session/wait-queue.ts';
import { createEventQueue } from '../session/event-queue.ts';
import { closedError } from '../session/model-proxy.ts';
import { flag, listOf, objectOf, text as textRule, whole } from '../rules.ts';
import type {
  EmbeddingEvent,
  EmbeddingModel,
  EmbeddingModelInfo,
  EmbeddingRequest,
} from './embedding-model.ts';
import { checkEmbeddingRequest } from './embedding-rules.ts';
import type { EmbeddingRunner } from './runner.ts';

export interface EmbeddingModelParts {
  info: EmbeddingModelInfo;
  tokenizer: Tokenizer;
  runner: EmbeddingRunner;
  /** A runner on a new device, after the old one was lost. */
  restart(reason: string): Promise<EmbeddingRunner>;
  release(): Promise<void>;
}

interface Waiting {
  ids: readonly number[];
  give(vector: Float32Array): void;
  fail(error: Error): void;
  wanted(): boolean;
}

/** Passes that a lost device may take along before its texts are given up. */
const MOST_RESTARTS = 2;

export function createEmbeddingModel(parts: EmbeddingModelParts): EmbeddingModel {
  const { info, tokenizer, release } = parts;
  let { runner } = parts;
  const waiting: Waiting[] = [];
  const counters = { texts: 0, promptTokens: 0, steps: 0, deviceRestarts: 0 };
  let requests = 0;
  let computing = 0;
  let running: Promise<void> | null = null;
  let closed = false;
  let end!: (reason: Error) => void;
  const ended = new Promise<Error>((resolve) => (end = resolve));

  const compute = async (batch: Waiting[]): Promise<Float32Array[]> => {
    const texts = batch.map(({ ids }) => ids);
    for (let restarts = 0; ; restarts++) {
      try {
        return await runner.run(texts, () => !closed && batch.some(({ wanted }) => wanted()));
      } catch (cause) {
        const reason = await runner.device.loss();
        if (reason === null || closed || restarts === MOST_RESTARTS) throw cause;
        runner = await parts.restart(reason);
        counters.deviceRestarts += 1;
      }
    }
  };

  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      const picked = new Set(runner.pick(waiting.map(({ ids }) => ids.length)));
      const batch = waiting.filter((_, at) => picked.has(at));
      const rest = waiting.filter((_, at) => !picked.has(at));
      waiting.splice(0, waiting.length, ...rest);
      computing = batch.length;
      try {
        const vectors = await compute(batch);
        counters.steps += 1;
        counters.texts += batch.length;
        counters.promptTokens += batch.reduce((sum, { ids }) => sum + ids.length, 0);
        batch.forEach(({ give }, i) => give(vectors[i]!));
      } catch (error) {
        const reason = error instanceof Error ? error : new Error(String(error));
        batch.forEach(({ fail }) => fail(reason));
      }
      computing = 0;
    }
  };

  const wake = (): void => {
    running ??= run()
      // What the runner could not even choose from.
      .catch((error: Error) => waiting.splice(0).forEach(({ fail }) => fail(error)))
      .finally(() => (running = null));
  };

  async function* generate(
    request: EmbeddingRequest,
    { signal }: { signal?: AbortSignal } = {},
  ): AsyncGenerator<EmbeddingEvent, void, void> {
    if (closed) throw closedError();
    checkEmbeddingRequest(request, info);
    if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled before it began');
    // One computes, the others wait.
    if (requests > info.maxQueuedRequests) throw overloaded(requests - 1);
    const texts = request.inputs.map((input, index) => tokensOf(input, index, tokenizer, info));
    const queue = createEventQueue<EmbeddingEvent>();
    let left = texts.length;
    let live = true;
    const entries = texts.map((ids, index): Waiting => ({
      ids,
      give(vector) {
        const values = shaped(vector, request.dimensions, info.normalized);
        queue.push({ type: 'embedding', index, values });
        if (--left === 0) queue.close();
      },
      fail: queue.fail,
      wanted: () => live,
    }));
    const leave = (): void => {
      live = false;
      const others = waiting.filter((entry) => !entries.includes(entry));
      waiting.splice(0, waiting.length, ...others);
      queue.fail(new EngineError('cancelled', 'the request was cancelled'));
    };
    signal?.addEventListener('abort', leave, { once: true });
    requests += 1;
    try {
      yield { type: 'accepted', tokens: texts.map(({ length }) => length) };
      waiting.push(...entries);
      wake();
      yield* queue.read();
    } finally {
      requests -= 1;
      signal?.removeEventListener('abort', leave);
      leave();
    }
  }

  const close = async (): Promise<void> => {
    closed = true;
    for (const { fail } of waiting.splice(0)) fail(closedError());
    try {
      await running;
      runner.device.destroy();
    } finally {
      await release().finally(() => end(closedError()));
    }
  };
  let closing: Promise<void> | null = null;
  const closeOnce = (): Promise<void> => (closing ??= close());

  return {
    info,
    ended,
    asleep: false,
    generate,
    async tokenize(text, options = {}) {
      textRule(text, 'text');
      objectOf({ addSpecialTokens: flag })(options, 'options');
      return tokenizer.encode(text, options);
    },
    async detokenize(ids, options = {}) {
      listOf(whole(0, info.vocabSize - 1))(ids, 'ids');
      objectOf({ skipSpecialTokens: flag })(options, 'options');
      return tokenizer.decode(ids, { skipSpecialTokens: false, ...options });
    },
    async metrics() {
      return { waiting: waiting.length + computing, ...counters };
    },
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

/** Token ids are taken as they are; a text gets what the tokenizer puts around it. */
function tokensOf(
  input: string | number[],
  index: number,
  tokenizer: Tokenizer,
  { contextLength, vocabSize }: EmbeddingModelInfo,
): number[] {
  const ids = typeof input === 'string' ? tokenizer.encode(input) : input;
  const param = `inputs.${index}`;
  if (ids.length === 0) {
    throw new EngineError('bad_request', `${param} is no token long: send a text that is not empty`, {
      param,
    });
  }
  const beyond = ids.find((id) => id >= vocabSize);
  if (beyond !== undefined) {
    throw new EngineError(
      'bad_request',
      `${param} has token ${beyond}, and the model has ${vocabSize}: the token was added to the tokenizer and not to the model, leave its text out`,
      { param },
    );
  }
  if (ids.length <= contextLength) return ids;
  throw new EngineError(
    'context_length_exceeded',
    `${param} has ${ids.length} tokens and the model takes ${contextLength}: shorten it or send it in parts`,
    { param },
  );
}

/** The first `dimensions` values; of length one where the model's vectors are, or where they were cut. */
function shaped(vector: Float32Array, dimensions: number | undefined, normalized: boolean): Float32Array {
  const values = dimensions === undefined ? vector : vector.slice(0, dimensions);
  if (!normalized && values.length === vector.length) return values;
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? values : values.map((value) => value / length);
}
