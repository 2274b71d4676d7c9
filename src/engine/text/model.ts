// The TextModel face over a scheduler and its clock: who is let in, and what each request hears.

import { EngineError } from '../../files/error.ts';
import { PAGE_TOKENS } from '../../kernels/batch.ts';
import type { Loop } from './loop.ts';
import { createEventQueue } from '../queue.ts';
import { closedError } from '../remote.ts';
import { flag, listOf, objectOf, text as textRule, whole } from '../rules.ts';
import { createSequences, renderPrompt, type RequestContext } from './request.ts';
import type { Scheduler } from './scheduler.ts';
import type { Sequence } from './sequence.ts';
import type { TextEvent, TextModel, TextModelInfo, TextRequest } from './text-model.ts';
import { checkTextRequest } from './text-rules.ts';

export interface TextModelParts {
  info: TextModelInfo;
  context: RequestContext;
  scheduler: Scheduler;
  loop: Loop;
  /** Gives back the device and the files. */
  release(): Promise<void>;
}

export function createTextModel({ info, context, scheduler, loop, release }: TextModelParts): TextModel {
  const { tokenizer } = context;
  const live = new Set<Sequence[]>();
  let closed = false;
  let end!: (reason: Error) => void;
  const ended = new Promise<Error>((resolve) => (end = resolve));

  const refuseIfFull = (): void => {
    if (closed) throw closedError();
    const waits = (sequences: Sequence[]): boolean =>
      sequences.some(({ finished }) => !finished) && sequences.every(({ slot }) => slot === null);
    const waiting = [...live].filter(waits).length;
    // Those that take the free slots at the next step do not wait.
    if (waiting >= info.maxQueuedRequests + info.maxRunningRequests - scheduler.running.length) {
      throw new EngineError(
        'overloaded',
        `${waiting} requests wait already, the most that --max-queued-requests allows: try again later`,
      );
    }
  };

  async function* generate(
    request: TextRequest,
    { signal }: { signal?: AbortSignal } = {},
  ): AsyncGenerator<TextEvent, void, void> {
    checkTextRequest(request, context.vocabulary);
    refuseIfFull();
    const queue = createEventQueue<TextEvent>();
    const { ids } = await renderPrompt(request.prompt, context);
    refuseIfFull(); // others may have come meanwhile
    let open = 0;
    const sequences = createSequences(request, ids, context, {
      emit(event) {
        queue.push(event);
        if (event.type === 'done' && --open === 0) queue.close();
      },
      fail: queue.fail,
    });
    open = sequences.length;
    const abort = (): void => sequences.forEach((sequence) => !sequence.finished && loop.abort(sequence));
    if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled before it began');
    signal?.addEventListener('abort', abort, { once: true });
    live.add(sequences);
    try {
      sequences.forEach((sequence) => scheduler.add(sequence));
      queue.push({
        type: 'accepted',
        promptTokens: ids.length,
        maxTokens: sequences[0]!.maxTokens,
        ...(request.promptIds && { promptIds: ids }),
      });
      loop.wake();
      yield* queue.read();
    } finally {
      signal?.removeEventListener('abort', abort);
      abort();
      live.delete(sequences);
    }
  }

  const close = async (): Promise<void> => {
    if (closed) return;
    closed = true;
    await loop.close();
    await release();
    end(closedError());
  };

  return {
    info,
    ended,
    generate,
    renderPrompt: (prompt) => renderPrompt(prompt, context),
    async tokenize(text, options = {}) {
      textRule(text, 'text');
      objectOf({ addSpecialTokens: flag })(options, 'options');
      return tokenizer.encode(text, options);
    },
    async detokenize(ids, options = {}) {
      listOf(whole(0))(ids, 'ids');
      objectOf({ skipSpecialTokens: flag })(options, 'options');
      return tokenizer.decode(ids, { skipSpecialTokens: false, ...options });
    },
    async metrics() {
      const { pages, running, waiting, retractions } = scheduler;
      return {
        running: running.length,
        waiting: waiting.length,
        pages: { used: pages.total - pages.free, total: pages.total, tokensPerPage: PAGE_TOKENS },
        ...loop.counters,
        retractions,
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
