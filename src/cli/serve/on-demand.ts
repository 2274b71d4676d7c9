// The models of --models-dir: a folder of models or the hub's cache, planned, opened, fetched and deleted for the server.

import { join } from 'node:path';
import {
  deviceBudget,
  type FoundModel as ListedModel,
  findCachedModels,
  findModels,
  type HubEvent,
  MODEL_KINDS,
  type ModelPlan,
  planInThread,
  removeFound,
  removeModel,
  resolveModel,
} from '../../index.ts';
import { PLANNING } from '../../options/jobs.ts';
import { forModels, type ModelKind } from '../../options/setting.ts';
import type {
  FoundModel,
  ModelSource,
  PlannedMemory,
  RunningServer,
  ServedCatalog,
} from '../../server/entry.ts';
import type { Values } from '../options/option.ts';
import { settingsGiven } from '../options/setting-options.ts';
import { type ON_DEMAND_OPTIONS, toLimits } from './on-demand-options.ts';
import { type Openers, servedOptions, type ServedOptions } from './serve-models.ts';

export type OnDemandOptions = ServedOptions & Partial<Values<typeof ON_DEMAND_OPTIONS>>;

type Env = Record<string, string | undefined>;

/** Serves the models of --models-dir; a GPU that does not tell its memory is filled until it refuses. */
export async function serveOnDemand(
  server: RunningServer,
  open: Openers,
  options: OnDemandOptions,
): Promise<ServedCatalog> {
  const budget = options['memory-budget'] ?? (await ownBudget());
  return server.addCatalog(modelSource(open, options), toLimits(options, budget));
}

/** What the device has for all models; null: it does not tell. */
async function ownBudget(): Promise<number | null> {
  const { bytes, grows } = await deviceBudget();
  return grows ? null : bytes;
}

/** `env` replaces process.env. */
export function modelSource(open: Openers, options: OnDemandOptions, env: Env = process.env): ModelSource {
  const place = placeOf(options['models-dir']!, env);
  return {
    list: async () => (await place.list()).map(toFound),
    plan: ({ path, kind }, memoryBudget) => planned(path, kind.name as ModelKind, memoryBudget, options),
    open({ path, kind }, { budget, stays }, onEvent, signal) {
      const given: Record<string, unknown> = { ...(servedOptions(kind, path, options) as object) };
      // The server closes idle models itself, except those that stay: these sleep.
      if (!stays) delete given['sleepAfter'];
      if (budget !== null) given['memoryBudget'] = budget;
      return open[kind.name]!(given as never, onEvent, signal);
    },
    async fetch(id, onProgress, signal) {
      const onEvent = (event: HubEvent): void => {
        if (event.type === 'start' || event.type === 'progress') onProgress(event.received, event.total);
      };
      await resolveModel(id, { env: place.env, onProgress: onEvent, signal });
    },
    remove: ({ name, path }) => place.remove(name, path),
  };
}

interface Place {
  /** The environment of the hub into whose cache models are fetched. */
  readonly env: Env;
  list(): Promise<readonly ListedModel[]>;
  remove(name: string, path: string): Promise<void>;
}

/** A folder keeps what is fetched in a cache within it. */
function placeOf(folder: string, env: Env): Place {
  if (folder === 'cache')
    return {
      env,
      list: () => findCachedModels({ env, byPath: true }),
      remove: async (name) => void (await removeModel(name, { env })),
    };
  const hub = join(folder, '.hub');
  const own = { ...env, HF_HUB_CACHE: hub, MODELSCOPE_CACHE: hub };
  const fetched = (): Promise<ListedModel[]> => findCachedModels({ env: own, byPath: true });
  return {
    env: own,
    async list() {
      const local = await findModels(folder);
      const names = new Set(local.map(({ name }) => name));
      return [...local, ...(await fetched()).filter(({ name }) => !names.has(name))];
    },
    async remove(name, path) {
      const isFetched = (await fetched()).some(({ model }) => model === path);
      if (isFetched) await removeModel(name, { env: own });
      else await removeFound({ model: path });
    },
  };
}

function toFound({ model, kind, ...found }: ListedModel): FoundModel {
  return { ...found, path: model, kind: MODEL_KINDS[kind] };
}

async function planned(
  model: string,
  kind: ModelKind,
  memoryBudget: number,
  options: OnDemandOptions,
): Promise<PlannedMemory> {
  const settings = settingsGiven(forModels(PLANNING, kind), options);
  const plan = await planInThread({ ...settings, model, memoryBudget });
  const { weights, scratch, cache } = chosen(plan, options.quantization);
  return { bytes: weights + scratch + cache, opens: plan.opens };
}

/** The figures of the quantization that is asked for; of `auto`, of the first that opens. */
function chosen({ choices }: ModelPlan, quantization: string): ModelPlan['choices'][number] {
  return (
    choices.find((choice) => choice.quantization === quantization) ??
    choices.find(({ opens }) => opens) ??
    choices.at(-1)!
  );
}
