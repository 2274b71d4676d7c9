// Models of a catalog without files: their openings can be held back and can fail, and what happened is recorded.

import { EngineError, MODEL_KINDS } from '../../../src/index.ts';
import type {
  CatalogLimits,
  FoundModel,
  ModelSource,
  ServableModel,
} from '../../../src/server/catalog/model-source.ts';
import { createFakeEmbeddingModel } from '../fake-embedding-model.ts';
import { openFakeImageModel } from '../fake-image-model.ts';
import { createFakeModel } from '../fake-model.ts';
import { type Harness, start } from '../harness.ts';

/** Bytes that each of the models takes. */
export const EACH = 4096;

export const found = (name: string, kind: keyof typeof MODEL_KINDS, drawsClips = false): FoundModel => ({
  name,
  path: `/models/${name}`,
  kind: MODEL_KINDS[kind],
  bytes: 1000,
  architecture: kind === 'text' ? 'Qwen3ForCausalLM' : null,
  contextLength: kind === 'text' ? 4096 : null,
  drawsClips,
});

export interface DemandSource extends ModelSource {
  models: FoundModel[];
  /** open NAME, close NAME, fetch ID, remove NAME, in their order. */
  readonly happened: string[];
  /** Errors of openings by name; each is thrown once. */
  readonly failures: Map<string, Error>;
  /** Openings of these wait until they are released. */
  readonly gates: Map<string, Promise<void>>;
  /** Budgets that models were opened with. */
  readonly budgets: (number | null)[];
  readonly opened: Map<string, ServableModel>;
}

export function demandSource(): DemandSource {
  const source: DemandSource = {
    models: [
      found('owner/chat', 'text'),
      found('other', 'text'),
      found('vectors', 'embedding'),
      found('scenes', 'image'),
    ],
    happened: [],
    failures: new Map(),
    gates: new Map(),
    budgets: [],
    opened: new Map(),
    list: async () => source.models,
    plan: async (_, budget) => ({ bytes: EACH, opens: budget >= EACH }),
    async open({ name, kind, drawsClips }, { budget }, onEvent) {
      source.happened.push(`open ${name}`);
      source.budgets.push(budget);
      onEvent({ type: 'load', bytes: 1, totalBytes: 4 });
      await source.gates.get(name);
      const failure = source.failures.get(name);
      source.failures.delete(name);
      if (failure) throw failure;
      const model: ServableModel =
        kind.name === 'text'
          ? createFakeModel()
          : kind.name === 'embedding'
            ? createFakeEmbeddingModel(name)
            : await openFakeImageModel(drawsClips ? { frames: 3, fps: 8 } : {});
      const close = async (): Promise<void> => {
        source.happened.push(`close ${name}`);
        source.opened.delete(name);
      };
      source.opened.set(name, Object.assign(model, { close }));
      return model;
    },
    async fetch(id, onProgress, signal) {
      source.happened.push(`fetch ${id}`);
      onProgress(25, 100);
      await Promise.race([source.gates.get(id), aborted(signal)]);
      const failure = source.failures.get(id);
      if (failure) throw failure;
      onProgress(100, 100);
      source.models.push(found(id, 'text'));
    },
    async remove({ name }) {
      source.happened.push(`remove ${name}`);
      source.models = source.models.filter((model) => model.name !== name);
    },
  };
  return source;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () =>
      reject(new EngineError('cancelled', 'the download was cancelled')),
    ),
  );
}

/** Holds an opening or a download back until the returned function is called. */
export function hold(source: DemandSource, name: string): () => void {
  let release!: () => void;
  source.gates.set(
    name,
    new Promise<void>((resolve) => {
      release = () => {
        source.gates.delete(name);
        resolve();
      };
    }),
  );
  return release;
}

export interface OnDemandHarness extends Harness {
  source: DemandSource;
  /** The answer of /v1/chat/completions: its text, or the message of its error. */
  say(model: string, content?: string, more?: RequestInit): Promise<{ status: number; text: string }>;
  /** States by name, as /v1/models lists them. */
  states(): Promise<Record<string, string>>;
  call(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; body: Record<string, unknown> }>;
}

/** A server of the four models, in a budget for two unless `limits` say otherwise. */
export async function startOnDemand(
  limits: Partial<CatalogLimits> = {},
  options: Parameters<typeof start>[0] = {},
): Promise<OnDemandHarness> {
  const harness = await start(options, { ready: false });
  // The harness begins with a model of its own, which is not part of these tests.
  harness.served.failed('it is not there');
  const source = demandSource();
  const all = { budget: 2 * EACH, most: 0, pinned: [], keepAlive: null, waiting: 8, ...limits };
  await harness.server.addCatalog(source, all);
  const headers = { 'content-type': 'application/json' };
  return {
    ...harness,
    source,
    async say(model, content = 'hello', more = {}) {
      const body = { model, messages: [{ role: 'user', content }] };
      const response = await harness.post(body, more);
      const reply = (await response.json()) as {
        choices?: { message: { content: string } }[];
        error?: { message: string };
      };
      return { status: response.status, text: reply.choices?.[0]?.message.content ?? reply.error!.message };
    },
    async states() {
      const { data } = (await (await fetch(`${harness.url}/v1/models`)).json()) as {
        data: { id: string; status: { value: string } }[];
      };
      return Object.fromEntries(data.map(({ id, status }) => [id, status.value]));
    },
    async call(method, path, body) {
      const response = await fetch(harness.url + path, {
        method,
        ...(body && { headers, body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
  };
}
