// The server's lifetime: it answers while models still load, and stops after the running requests have ended.

import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { endBy } from './end-process.ts';
import type { AnyKind, OpenEvent } from '../index.ts';
import { isLoopback } from './access.ts';
import { createApp } from './app.ts';
import { watchConnections } from './connections.ts';
import { listen, urlOf } from './listening.ts';
import type { Log } from './http/request-log.ts';
import { countText } from '../files/count-text.ts';
import { DEFAULTS } from '../options/limits.ts';
import { routesWith } from './routes.ts';
import { resumeBatches } from './batches/batches.ts';
import type { CatalogLimits, ModelSource } from './catalog/model-source.ts';
import { openOnDemand, type ServedCatalog } from './service/open-on-demand.ts';
import { openVideoStore } from './videos/video-store.ts';
import type { RouteTable } from './service/route.ts';
import { openTracing } from './service/tracing.ts';
import {
  SHUTDOWN,
  createService,
  fillSlot,
  noteProgress,
  starting,
  tellChange,
  type ServableModel,
  type Service,
  type ServerOptions,
  type Slot,
} from './service/service.ts';

/** Milliseconds between aborting requests and closing their connections. */
const ABORT_TIME = 1000;

export interface RunningServer {
  /** The server's address, without a slash at the end; `unix:` and a path where it listens on a socket. */
  readonly url: string;
  /** Names of the models that are ready. */
  names(): string[];
  /** Number of requests that the engines are running. */
  running(): number;
  /** Adds a slot for a model that will be opened. It answers to `names`, else to the model's own name. */
  addModel(options?: { names?: string[]; kind?: AnyKind }): ServedModel;
  /** Serves further models, which are opened at their first request. Reads their list; throws what reading it throws. */
  addCatalog(source: ModelSource, limits: CatalogLimits): Promise<ServedCatalog>;
  /**
   * Says at the probes that it stops, still takes requests for the drain delay, then refuses new ones, lets the running ones end, aborts
   * what runs after the drain time, and gives the port back.
   */
  close(): Promise<void>;
}

export interface ServedModel {
  /** Names that the model answers to. Empty before the model is open if the model itself provides its name. */
  names(): string[];
  /** Records the progress of the opening, which /readyz reports. */
  progress(event: OpenEvent): void;
  /** The model no longer answers: its requests get 503 until `ready` is called again. */
  lost(): void;
  /** The model cannot be opened; its requests get an error with this reason. */
  failed(reason: string): void;
  /** The model is open; its requests are answered from now on. */
  ready(model: ServableModel): void;
}

/** Starts the server, which answers 503 until a model is ready. `added`: further routes. Throws if it cannot listen on the port. */
export async function startServer(
  options: ServerOptions,
  log: Log,
  added: RouteTable = {},
): Promise<RunningServer> {
  const tracing = await openTracing(log);
  const service = createService(options, log, tracing);
  if (tracing) service.closing.push(() => tracing.end());
  await openVideoStore(service);
  const { receiveTime = DEFAULTS.receiveTime } = options;
  const server = await listen(createApp(service, routesWith(added)), options, receiveTime);
  const node = server.node?.server;
  if (node) watchConnections(node as Server, log, receiveTime);
  await resumeBatches(service);
  const isGuarded = [options.apiKey, options.apiKeyFile, options.unixSocket].some((one) => one !== undefined);
  if (!isGuarded && !isLoopback(options.host)) {
    log.warn(`Anyone who reaches ${options.host} can use this server: start it with --api-key.`);
  }

  let closing: Promise<void> | undefined;
  const close = async () => {
    const { drainDelay = 0 } = options;
    service.leaving = true;
    // Nobody sends requests to a server that never was ready.
    const isKnown = service.onDemand !== null || service.slots.some(({ phase }) => phase.name === 'ready');
    // Without a delay the server stops at once: a request that comes after close() is not answered.
    if (isKnown && drainDelay > 0) await sleep(drainDelay);
    service.stopping = true;
    tellChange(service, { isStopping: true });
    if (!(await quiet(service, options.drainTime ?? DEFAULTS.drainTime))) {
      log.warn(`Still running: ${countText(service.running.size, 'request')}. Ending what runs.`);
      for (const abort of service.running) abort.abort(SHUTDOWN);
      await quiet(service, ABORT_TIME);
    }
    // Connections that are still open are idle, were never used, or do not read.
    await server.close(true);
    for (const end of service.closing) await end().catch((error: unknown) => log.error(error));
  };

  return {
    url: urlOf(server, options),
    names: () => service.slots.flatMap(({ names, phase }) => (phase.name === 'ready' ? names : [])),
    running: () => service.running.size,
    addModel: ({ names = [], kind } = {}) => {
      const slot: Slot = { names, kind: kind ?? null, phase: starting() };
      service.slots.push(slot);
      return servedModel(service, slot);
    },
    addCatalog: (source, limits) => openOnDemand(service, source, limits),
    close: () => (closing ??= close()),
  };
}

function servedModel(service: Service, slot: Slot): ServedModel {
  return {
    names: () => slot.names,
    progress(event) {
      noteProgress(slot, event);
      tellChange(service, { slot });
    },
    lost() {
      slot.phase = starting();
      tellChange(service, { slot });
    },
    failed(reason) {
      slot.phase = { name: 'failed', reason };
      tellChange(service, { slot });
    },
    ready(model) {
      fillSlot(service, slot, model);
      tellChange(service, { slot });
    },
  };
}

/** Resolves with the name of the first SIGINT or SIGTERM; a second one ends the process at once. */
export function untilSignal(): Promise<'SIGINT' | 'SIGTERM'> {
  return new Promise((resolve) => {
    let first = true;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (!first) return endBy(signal);
        first = false;
        resolve(signal);
      });
    }
  });
}

/** Resolves with true when every reply that began before the stop has ended; with false if that takes longer. */
async function quiet(service: Service, milliseconds: number): Promise<boolean> {
  const deadline = performance.now() + milliseconds;
  while (service.replies > 0) {
    if (performance.now() >= deadline) return false;
    await sleep(10);
  }
  return true;
}
