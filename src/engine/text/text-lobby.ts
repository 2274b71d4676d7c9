// Requests that wait for a language model while it is opened again: as in its own queue, they have a time and can be ended by their
// ids, and where too many wait, the lowest gives way.

import type { EngineError } from '../../files/error.ts';
import type { Lobby } from '../session/wait-queue.ts';
import { withResolvers } from '../resolvers.ts';
import { createLiveRequests, gaveWay, type LiveRequest } from './live-requests.ts';
import type { TextEvent, TextModelInfo, TextModelOptions, TextRequest } from './text-model.ts';
import { checkTextRequest } from './text-rules.ts';

export interface TextLobby extends Lobby {
  readonly waiting: number;
  /** See TextModel. */
  abort(id: string): number;
}

export function createTextLobby(
  { vocabSize, maxQueuedRequests, maxRunningRequests }: TextModelInfo,
  { queueTimeout, totalTimeout }: Pick<TextModelOptions, 'queueTimeout' | 'totalTimeout'>,
): TextLobby {
  const ends = new Map<LiveRequest, (error?: EngineError) => void>();
  const end = (request: LiveRequest, error?: EngineError): void => ends.get(request)?.(error);
  const live = createLiveRequests({ queueTimeout, totalTimeout, end, waits: () => true });

  return {
    get waiting() {
      return live.waiting;
    },
    abort(id) {
      const ending = live.named(id);
      ending.forEach((request) => end(request));
      return ending.length;
    },
    enter(request: TextRequest) {
      checkTextRequest(request, vocabSize);
      const displaced = live.placeFor(request, maxQueuedRequests + maxRunningRequests);
      const own = live.enter(request);
      const since = performance.now();
      const { promise: ended, resolve, reject } = withResolvers<TextEvent[]>();
      const leave = (): void => {
        own.leave();
        ends.delete(own);
      };
      ends.set(own, (error) => {
        leave();
        if (error) reject(error);
        else resolve(aborted(request));
      });
      if (displaced) end(displaced, gaveWay());
      return {
        ended,
        leave(): TextRequest {
          leave();
          const waited = Math.round(performance.now() - since);
          return { ...request, timeouts: { ...request.timeouts, waited } };
        },
      };
    },
  };
}

/** Nothing of its prompt has been read. */
function aborted({ n = 1 }: TextRequest): TextEvent[] {
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
