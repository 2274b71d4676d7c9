// The queue of requests to a language model that is being opened again. As in the queue of an open model, requests have time-outs
// and can be aborted by id, and the request with the lowest priority is refused if the queue is full.

import type { EngineError } from '../../../files/error.ts';
import { withResolvers } from '../../async/resolvers.ts';
import type { QueueEntry, WaitQueue } from '../../async/wait-queue.ts';
import { gaveWay, LiveRequests, type LiveRequest } from '../run/live-requests.ts';
import type { TextEvent, TextModelInfo, TextModelOptions, TextRequest } from '../calls/text-model.ts';
import { checkTextRequest } from './text-rules.ts';

export class TextWaitQueue implements WaitQueue {
  readonly #vocabSize: number;
  readonly #most: number;
  readonly #live: LiveRequests;
  /** Functions that end a waiting request with an error, or as aborted. */
  readonly #ends = new Map<LiveRequest, (error?: EngineError) => void>();

  constructor(
    { vocabSize, maxQueuedRequests, maxRunningRequests }: TextModelInfo,
    { queueTimeout, totalTimeout }: Pick<TextModelOptions, 'queueTimeout' | 'totalTimeout'>,
  ) {
    this.#vocabSize = vocabSize;
    this.#most = maxQueuedRequests + maxRunningRequests;
    this.#live = new LiveRequests({
      queueTimeout,
      totalTimeout,
      end: (request, error) => this.#ends.get(request)?.(error),
      waits: () => true,
    });
  }

  get waiting(): number {
    return this.#live.waiting;
  }

  /** See TextModel.abort. */
  abort(id: string): number {
    const ending = this.#live.named(id);
    for (const request of ending) this.#ends.get(request)?.();
    return ending.length;
  }

  enter(request: TextRequest): QueueEntry {
    checkTextRequest(request, this.#vocabSize);
    const displaced = this.#live.placeFor(request, this.#most);
    const own = this.#live.enter(request);
    const since = performance.now();
    const { promise: ended, resolve, reject } = withResolvers<TextEvent[]>();
    this.#ends.set(own, (error) => {
      this.#leave(own);
      if (error) reject(error);
      else resolve(abortedEvents(request));
    });
    if (displaced) this.#ends.get(displaced)?.(gaveWay());
    return {
      ended,
      leave: (): TextRequest => {
        this.#leave(own);
        const waited = Math.round(performance.now() - since);
        return { ...request, timeouts: { ...request.timeouts, waited } };
      },
    };
  }

  #leave(request: LiveRequest): void {
    request.leave();
    this.#ends.delete(request);
  }
}

/** Returns the events of a request that was aborted before its prompt was read. */
function abortedEvents({ n = 1 }: TextRequest): TextEvent[] {
  const done = (choice: number): TextEvent => ({
    type: 'done',
    choice,
    finishReason: 'abort',
    matchedStop: null,
    completionTokens: 0,
  });
  const choices = Array.from({ length: n }, (_, choice) => done(choice));
  return [{ type: 'accepted', promptTokens: 0, maxTokens: 0 }, ...choices];
}
