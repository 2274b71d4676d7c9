// The TextModel face over a scheduler and its clock: who is let in, and what each request hears.

import { EngineError } from '../../files/error.ts';
import { PAGE_TOKENS } from '../../kernels/batch.ts';
import type { CacheTiers } from './cache/cache-tiers.ts';
import { acceptForced } from './constrained.ts';
import type { Adapter, Adapters } from './adapters.ts';
import type { Loaded } from './load.ts';
import type { EngineLoop } from './loop.ts';
import type { DeviceSession } from '../session/device-session.ts';
import type { CallNames } from '../session/model.ts';
import { createEventQueue } from '../session/event-queue.ts';
import { mergeEvents } from './merge-events.ts';
import { createLiveRequests, gaveWay, type LiveOptions, type LiveRequest } from './live-requests.ts';
import { filledText, flag, listOf, objectOf, text as textRule, whole } from '../rules.ts';
import { HELD_ARGUMENTS, mayHoldCalls } from './output/held-calls.ts';
import { planReply } from './output/reply.ts';
import { grammarOfReply } from './output/reply-constraint.ts';
import { checkWgsl, withThinkingBudget } from './processors.ts';
import { stopsOf } from './request-stops.ts';
import { createSequences, renderPrompt, type RequestContext } from './request.ts';
import type { Scheduler } from './scheduler.ts';
import type { CacheMetrics, TextEvent, TextModel, TextModelInfo, TextRequest } from './text-model.ts';
import { checkTextRequest } from './text-rules.ts';

/** See CallNames. */
export const TEXT_CALLS: CallNames<TextModel> = {
  renderPrompt: true,
  tokenize: true,
  detokenize: true,
  metrics: true,
  abort: true,
  flushCache: true,
  loadedAdapters: true,
  loadAdapter: true,
  unloadAdapter: true,
};

export interface TextModelParts {
  info: TextModelInfo;
  context: RequestContext;
  scheduler: Scheduler;
  loop: EngineLoop;
  /** null: the cache has none but the device. */
  tiers: CacheTiers | null;
  adapters: Adapters;
  pageBytes: number;
  timeouts: Pick<LiveOptions, 'queueTimeout' | 'totalTimeout'>;
  session: DeviceSession<Loaded>;
}

export function createTextModel({
  info,
  context,
  scheduler,
  loop,
  tiers,
  adapters,
  pageBytes,
  timeouts,
  session,
}: TextModelParts): TextModel {
  const { tokenizer } = context;
  const end = (request: LiveRequest, error?: EngineError): void => {
    request.ended ??= error ? { error } : {};
    loop.abort(request.sequences, error);
  };
  const live = createLiveRequests({ ...timeouts, end });
  session.defer(() => loop.close());

  const placeFor = (request: TextRequest): LiveRequest | null => {
    session.assertOpen();
    // Those that take the free slots at the next step do not wait.
    const slots = info.maxRunningRequests - scheduler.running.length;
    return live.placeFor(request, info.maxQueuedRequests + slots);
  };

  async function* generate(
    request: TextRequest,
    { signal }: { signal?: AbortSignal } = {},
  ): AsyncGenerator<TextEvent, void, void> {
    checkTextRequest(request, context.vocabulary);
    placeFor(request);
    const own = live.enter(request);
    const abort = (): void => end(own);
    let adapter: Adapter | null = null;
    try {
      if (request.lora !== undefined) adapter = await adapters.acquire(request.lora);
      const queue = createEventQueue(mergeEvents);
      await checkWgsl(request, context.checkProcessor);
      const stops = await stopsOf(request, context.longText?.stops ?? null, signal);
      const plan = planReply(withThinkingBudget(request), context);
      const { ids, begins, said } = await renderPrompt(plan.prompt, context, signal);
      const source = grammarOfReply(request, plan, begins, context);
      const found = source ? await context.grammars.get(source, signal) : null;
      // A vocabulary that cannot spell JSON holds no calls.
      const holds = source === null && mayHoldCalls(plan);
      const held = holds ? await context.grammars.get(HELD_ARGUMENTS, signal).catch(() => null) : null;
      if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled before it began');
      let open = request.n ?? 1;
      let failure: EngineError | null = null;
      const heldArguments = held?.grammar ?? null;
      const reply = { plan, begins, said, grammar: found?.grammar ?? null, heldArguments, stops, adapter };
      const sequences = createSequences(request, ids, reply, context, (event) => {
        queue.push(event);
        if (event.type !== 'done') return;
        if (event.error) failure ??= new EngineError(event.error.code, event.error.message, event.error);
        if (--open > 0) return;
        if (failure) queue.fail(failure);
        else queue.close();
      });
      const displaced = placeFor(request); // others may have come meanwhile
      if (displaced) end(displaced, gaveWay());
      queue.push({
        type: 'accepted',
        promptTokens: ids.length,
        maxTokens: sequences[0]!.request.maxTokens,
        ...(request.promptIds && { promptIds: ids }),
        ...(found && found.compileMs !== null && { compileMs: found.compileMs }),
      });
      own.sequences = sequences;
      signal?.addEventListener('abort', abort, { once: true });
      await tiers?.fetch(sequences[0]!);
      if (adapter?.lost) throw adapter.lost;
      for (const sequence of sequences) {
        acceptForced(sequence);
        if (!sequence.finished && !own.ended && !session.isClosed) scheduler.add(sequence);
      }
      if (own.ended || session.isClosed) end(own, own.ended?.error);
      loop.wake();
      yield* queue.read();
    } finally {
      signal?.removeEventListener('abort', abort);
      abort();
      own.leave();
      if (adapter) adapters.release(adapter);
    }
  }

  const closeOnce = (): Promise<void> => session.close();

  return {
    info,
    ended: session.ended,
    asleep: false,
    generate,
    async renderPrompt(prompt) {
      const { text, ids } = await renderPrompt(prompt, context);
      return { text, ids };
    },
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
      const { pages, running, waiting, retractions } = scheduler;
      return {
        running: running.length,
        waiting: waiting.length,
        pages: {
          used: pages.pool.total - pages.available,
          cached: pages.tree.evictable,
          total: pages.pool.total,
          tokensPerPage: PAGE_TOKENS,
          bytesPerPage: pageBytes,
        },
        cache: cacheMetrics(scheduler, tiers),
        grammars: { ...context.grammars.counters },
        adapters: { loaded: adapters.list().length, most: adapters.most },
        ...loop.counters,
        retractions,
      };
    },
    async abort(id) {
      filledText(id, 'id');
      const ending = live.named(id).filter((request) => !request.ended);
      ending.forEach((request) => end(request));
      return ending.length;
    },
    async flushCache() {
      const isFlushed = scheduler.flush();
      if (isFlushed) context.grammars.clear();
      return isFlushed;
    },
    async loadedAdapters() {
      return adapters.list();
    },
    async loadAdapter(name, path) {
      filledText(name, 'name');
      filledText(path, 'path');
      return adapters.load(name, path);
    },
    async unloadAdapter(name) {
      filledText(name, 'name');
      return adapters.unload(name);
    },
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

function cacheMetrics({ lookups, pages }: Scheduler, tiers: CacheTiers | null): CacheMetrics {
  const { tokens, ...found } = lookups;
  const { used, most: total } = tiers?.storage ?? {};
  const cached = found.device + found.host + found.storage;
  return {
    lookedUp: tokens,
    ...found,
    hitRate: tokens === 0 ? 0 : cached / tokens,
    evicted: pages.evicted * PAGE_TOKENS,
    loadedBack: pages.loaded * PAGE_TOKENS,
    backedUp: tiers?.counters.backedUp ?? 0,
    fetched: tiers?.counters.fetched ?? 0,
    hostBytes: tiers?.host ?? { used: 0, total: 0 },
    storageBytes: typeof used === 'number' && typeof total === 'number' ? { used, total } : null,
  };
}
