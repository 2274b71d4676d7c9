// The state of a request for the log, and its log line.

import { randomUUID } from 'node:crypto';

/** Receiver of log lines; consola fits. */
export interface Log {
  error(...parts: unknown[]): void;
  warn(...parts: unknown[]): void;
  info(...parts: unknown[]): void;
  debug(...parts: unknown[]): void;
}

export interface LoggedCall {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** Milliseconds on the monotonic clock. */
  readonly startedAt: number;
  status: number;
  /** Name of the key that it came with; '' without one. */
  key: string;
  /** The server stopped before the request ended. */
  cutShort: boolean;
  /** Error that the request was refused with. */
  refusal: { code: string; param: string | null; message: string } | null;
  /** Details that the handler adds. */
  detail: () => string;
}

declare module 'h3' {
  interface H3EventContext {
    call?: LoggedCall;
  }
}

/** Creates the state of a request; the client's request id is kept if it is short and plain. */
export function startCall(method: string, path: string, clientId: string | null): LoggedCall {
  const id = clientId !== null && /^[\w.:-]{1,128}$/.test(clientId) ? clientId : `req_${randomUUID()}`;
  return {
    id,
    method,
    path,
    startedAt: performance.now(),
    status: 200,
    key: '',
    cutShort: false,
    refusal: null,
    detail: () => '',
  };
}

const PROBES = new Set(['/livez', '/readyz', '/health']);

export function logCall(log: Log, call: LoggedCall, clientLeft: boolean): void {
  const { id, method, path, status, startedAt, refusal, cutShort, key } = call;
  const why = refusal ? [refusal.code, refusal.param && `(${refusal.param})`] : [];
  const outcome = [status, ...why, cutShort ? 'ended by the shutdown' : clientLeft && 'client left']
    .filter(Boolean)
    .join(' ');
  if (refusal) log.debug(`${id} ${refusal.message}`);
  const parts = [
    `${method} ${path} ${outcome}`,
    call.detail(),
    duration(performance.now() - startedAt),
    key && `key ${key}`,
    id,
  ];
  const line = parts.filter(Boolean).join(' · ');
  if (PROBES.has(path)) log.debug(line);
  else if (status === 500) log.error(line);
  else if (status > 500) log.warn(line);
  else log.info(line);
}

export function duration(milliseconds: number): string {
  return milliseconds < 1000 ? `${milliseconds.toFixed(0)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}
