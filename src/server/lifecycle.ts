// The server from its first answer, given while the model still loads, to its last, given while it stops.

import { serve } from 'h3';
import type { OpenEvent, TextModel } from '../index.ts';
import { isLoopback } from './access.ts';
import { createApp } from './app.ts';
import { BODY_LIMIT } from './json-body.ts';
import { createService, type Log, readyPhase, type Service, type ServerOptions } from './service.ts';

const DRAIN_TIME = 10_000;
/** Milliseconds between telling requests to end and closing their connections. */
const ABORT_TIME = 1000;

export interface RunningServer {
  /** Without a slash at the end. */
  readonly url: string;
  readonly service: Service;
  /** How far the start has come; /readyz tells it. */
  progress(event: OpenEvent): void;
  /** From now on requests are answered. */
  ready(model: TextModel): void;
  /** Takes no new requests, lets the running ones end, and aborts what runs after the drain time. */
  close(): Promise<void>;
}

/** Answers 503 until `ready` is called. Throws where the port cannot be had. */
export async function startServer(options: ServerOptions, log: Log): Promise<RunningServer> {
  const service = createService(options, log);
  const server = serve(createApp(service), {
    hostname: options.host,
    port: options.port,
    maxRequestBodySize: BODY_LIMIT,
    gracefulShutdown: false,
    silent: true,
  });
  await server.ready();
  if (options.apiKey === undefined && !isLoopback(options.host)) {
    log.warn(`Anyone who reaches ${options.host} can use this server: start it with --api-key.`);
  }

  const nodeServer = server.node?.server;
  let closing: Promise<void> | undefined;
  const close = async () => {
    service.phase = { name: 'stopping' };
    const closed = server.close();
    // A connection kept alive goes idle only after its last reply.
    const sweep = setInterval(() => {
      if (nodeServer && 'closeIdleConnections' in nodeServer) nodeServer.closeIdleConnections();
    }, 50);
    try {
      if (await settles(closed, options.drainTime ?? DRAIN_TIME)) return;
      log.warn(`${service.running.size} requests still run: ending them.`);
      for (const abort of service.running) abort.abort();
      if (!(await settles(closed, ABORT_TIME))) await server.close(true);
    } finally {
      clearInterval(sweep);
    }
  };

  return {
    url: (server.url ?? '').replace(/\/$/, ''),
    service,
    progress(event) {
      if (service.phase.name === 'starting') service.phase = { name: 'starting', progress: event };
    },
    ready(model) {
      if (service.phase.name === 'starting') service.phase = readyPhase(model, options.servedModelNames);
    },
    close: () => (closing ??= close()),
  };
}

/** Resolves with the name of the first SIGINT or SIGTERM; a second one ends the process at once. */
export function untilSignal(): Promise<'SIGINT' | 'SIGTERM'> {
  return new Promise((resolve) => {
    let first = true;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (!first) process.exit(signal === 'SIGINT' ? 130 : 143);
        first = false;
        resolve(signal);
      });
    }
  });
}

async function settles(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  const settled = await Promise.race([promise.then(() => true as const), late]);
  clearTimeout(timer);
  return settled;
}
