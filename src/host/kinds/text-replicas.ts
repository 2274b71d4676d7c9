// How replicas of a language model share its requests: each has a device, a cache and a queue of its own, and a conversation goes where its
// beginning was computed. Tokens do not depend on the replica.

import type {
  LoraInfo,
  TextEvent,
  TextModel,
  TextModelInfo,
  TextModelOptions,
  TextRequest,
} from '../../engine/text/calls/text-model.ts';
import { replicaCount } from '../../engine/opening/replicas.ts';
import { EngineError } from '../../files/error.ts';
import { DEFAULTS } from '../../options/limits.ts';
import type { ReplicaRule, RequestPart, Sharing } from '../session/replicas.ts';
import { PrefixPlacement } from './prefix-placement.ts';
import { promptPages } from './prompt-pages.ts';
import { metricsOfAll } from './replica-metrics.ts';

export const TEXT_REPLICAS: ReplicaRule<TextModelOptions, TextModel> = {
  placesOf(options) {
    const replicas = replicaCount(options);
    const { maxQueuedRequests: queued = DEFAULTS.queuedRequests } = options;
    const maxQueuedRequests = Math.ceil(queued / replicas);
    return Array.from({ length: replicas }, (_, replica) => ({ replica, maxQueuedRequests }));
  },
  share: (models, { prefixCache = true }) => new SharedText(models, prefixCache),
};

class SharedText implements Sharing {
  readonly info: TextModelInfo;
  readonly #models: readonly TextModel[];
  readonly #pagesOf: (request: TextRequest) => number[];
  readonly #placement: PrefixPlacement;
  /** Requests that count as those of a replica which has lost its device and could not open it again. */
  readonly #lost: number[];

  constructor(models: readonly TextModel[], prefixCache: boolean) {
    this.#models = models;
    this.#pagesOf = prefixCache ? pagesOf : () => [];
    const { maxRunningRequests: running, maxQueuedRequests: queued } = models[0]!.info;
    this.#placement = new PrefixPlacement({ replicas: models.length, running, most: running + queued });
    this.#lost = models.map(() => 0);
    this.info = infoOfAll(models.map(({ info }) => info));
  }

  async divide(request: TextRequest): Promise<RequestPart[]> {
    const busyWithLost = (busy: readonly number[]): number[] =>
      busy.map((count, replica) => count + this.#lost[replica]!);
    return [
      {
        request,
        place: (busy) => this.#placement.place(this.#pagesOf(request), busyWithLost(busy)),
        pass: (event: TextEvent, replica): TextEvent =>
          event.type === 'accepted' ? { ...event, replica } : event,
        ended: (replica, error) => this.#ended(replica, error),
      },
    ];
  }

  #ended(replica: number, error: unknown): void {
    if (error === null) this.#lost[replica] = 0;
    if (!(error instanceof EngineError) || error.code !== 'device_lost') return;
    this.#placement.forget(replica);
    this.#lost[replica]! += this.#models[replica]!.info.maxRunningRequests;
  }

  readonly calls = {
    metrics: async () => metricsOfAll(this.#models, await this.#all((model) => model.metrics())),
    abort: async (id: string): Promise<number> => sumOf(await this.#all((model) => model.abort(id))),
    flushCache: () => this.#flush(),
    loadedLoras: async () => lorasOfAll(await this.#all((model) => model.loadedLoras())),
    loadLora: (name: string, path: string) => this.#load(name, path),
    unloadLora: (name: string) => this.#unload(name),
  };

  #all<T>(call: (model: TextModel) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#models.map(call));
  }

  async #flush(): Promise<boolean> {
    const metrics = await this.#all((model) => model.metrics());
    if (metrics.some(({ running, waiting }) => running + waiting > 0)) return false;
    const flushed = await this.#all((model) => model.flushCache());
    this.#placement.forget();
    return !flushed.includes(false);
  }

  /** Loads a LoRA with all replicas, or with none. */
  async #load(name: string, path: string): Promise<LoraInfo[]> {
    const loaded = await Promise.allSettled(this.#models.map((model) => model.loadLora(name, path)));
    const failed = loaded.find((one) => one.status === 'rejected');
    if (!failed) return this.calls.loadedLoras();
    const undone = this.#models.filter((_, replica) => loaded[replica]!.status === 'fulfilled');
    await Promise.allSettled(undone.map((model) => model.unloadLora(name)));
    throw failed.reason;
  }

  /** A LoRA that a request named by its folder may be loaded with some replicas only. */
  async #unload(name: string): Promise<LoraInfo[]> {
    const unloaded = await Promise.allSettled(this.#models.map((model) => model.unloadLora(name)));
    const failed = unloaded.filter((one) => one.status === 'rejected');
    if (failed.length === unloaded.length) throw failed[0]!.reason;
    return this.calls.loadedLoras();
  }
}

/** The pages of a prompt; a request without one, which its replica refuses, has none. */
function pagesOf(request: TextRequest): number[] {
  const isPrompt = typeof request?.prompt === 'object' && request.prompt !== null;
  return isPrompt ? promptPages(request) : [];
}

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

function infoOfAll(infos: readonly TextModelInfo[]): TextModelInfo {
  const [first] = infos;
  const sum = (of: (info: TextModelInfo) => number): number => sumOf(infos.map(of));
  return {
    ...first!,
    replicas: infos.length,
    maxRunningRequests: sum((info) => info.maxRunningRequests),
    maxQueuedRequests: sum((info) => info.maxQueuedRequests),
    memory: {
      budget: sum(({ memory }) => memory.budget),
      weights: sum(({ memory }) => memory.weights),
      kv: sum(({ memory }) => memory.kv),
      arena: sum(({ memory }) => memory.arena),
    },
  };
}

function lorasOfAll(lists: readonly LoraInfo[][]): LoraInfo[] {
  const all = new Map<string, LoraInfo>();
  for (const lora of lists.flat()) {
    const known = all.get(lora.name);
    all.set(lora.name, known ? { ...known, requests: known.requests + lora.requests } : lora);
  }
  return [...all.values()];
}
