// The metrics of a language model of several replicas.

import type { ReplicaMetrics, TextMetrics, TextModel } from '../../engine/text/calls/text-model.ts';

/** The metrics of all replicas together, with those of each. */
export function metricsOfAll(models: readonly TextModel[], all: readonly TextMetrics[]): TextMetrics {
  const [first] = all;
  const sum = sumOf(all);
  const { device, host, storage, lookedUp } = sum.cache;
  return {
    ...sum,
    pages: { ...sum.pages, ...sizesOf(first!) },
    cache: { ...sum.cache, hitRate: lookedUp === 0 ? 0 : (device + host + storage) / lookedUp },
    ...(sum.experts && { experts: { ...sum.experts, ...slotsOf(first!.experts!) } }),
    adapters: { loaded: Math.max(...all.map(({ adapters }) => adapters.loaded)), most: first!.adapters.most },
    replicas: all.map((metrics, replica) => ofReplica(models[replica]!, metrics)),
  };
}

function sizesOf({ pages }: TextMetrics): Pick<TextMetrics['pages'], 'tokensPerPage' | 'bytesPerPage'> {
  return { tokensPerPage: pages.tokensPerPage, bytesPerPage: pages.bytesPerPage };
}

function slotsOf({ layers, slots, experts }: NonNullable<TextMetrics['experts']>) {
  return { layers, slots, experts };
}

function ofReplica({ info }: TextModel, metrics: TextMetrics): ReplicaMetrics {
  const { running, waiting, pages, cache, promptTokens, generatedTokens, deviceRestarts } = metrics;
  const { description, device } = info.adapter;
  return {
    adapter: description || device,
    running,
    waiting,
    pages: { used: pages.used, cached: pages.cached, total: pages.total },
    hitRate: cache.hitRate,
    promptTokens,
    generatedTokens,
    deviceRestarts,
  };
}

/** Adds the numbers of objects that have the same members; of other values the first one stays. */
function sumOf<T extends object>(all: readonly T[]): T {
  const names = new Set(all.flatMap((one) => Object.keys(one)));
  const members = [...names].map((name) => {
    // What only some replicas have, such as experts in host memory, is theirs.
    const values = all
      .map((one) => (one as Record<string, unknown>)[name])
      .filter((value) => value !== undefined);
    const [first] = values;
    if (typeof first === 'number') return [name, (values as number[]).reduce((sum, value) => sum + value, 0)];
    const isWhole = values.every((value) => typeof value === 'object' && value !== null);
    return [name, isWhole ? sumOf(values) : first];
  });
  return Object.fromEntries(members) as T;
}
