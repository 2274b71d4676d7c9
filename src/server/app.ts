// The steps that every request passes before its route: id, log line, Host, CORS, key, errors.

import type { ServerResponse } from 'node:http';
import { H3, type H3Event, onDispose } from 'h3';
import {
  callerOf,
  checkHost,
  checkSite,
  corsHeaders,
  type Keys,
  ownCaller,
  preflightHeaders,
} from './access.ts';
import { ApiKeys } from './api-keys.ts';
import { takesComments } from './connections.ts';
import { CutShort, isUnforeseen, RequestError, toErrorReply } from './http/errors.ts';
import { logCall, startCall } from './http/request-log.ts';
import type { Method, Route, RouteTable } from './service/route.ts';
import { routeHint } from './route-hint.ts';
import { errorsOf, lookupIn, routeOf } from './routes.ts';
import { type Caller, innerCaller, runAs } from './service/caller.ts';
import { whileOpens } from './service/opening-stream.ts';
import type { Service } from './service/service.ts';
import type { RequestSpan } from './service/tracing.ts';
import { keepError, keepReply, keepStream } from './service/streams.ts';

/** Throws EngineError bad_request where the file of keys is wrong. */
export function createApp(service: Service, routes: RouteTable): H3 {
  const { apiKeyFile } = service.options;
  const file = apiKeyFile === undefined ? undefined : new ApiKeys(apiKeyFile, service.log);
  const keys: Keys = { ...service.options, ...(file && { file }) };
  service.callerNamed = (name) => ownCaller(keys, name) ?? file?.named(name) ?? null;
  const lookup = lookupIn(routes);
  const app = new H3({
    silent: true,
    allowMalformedURL: true,
    onError: (error, event) => errorReply(service, lookup, event, error),
  });
  app.use((event, next) => admit(service, { lookup, keys }, event, next));

  service.dispatch = (request) => Promise.resolve(app.fetch(request));
  for (const [path, methods] of Object.entries(routes)) addRoute(app, service, path, methods);
  app.all('/**', ({ req, url }) => {
    throw new RequestError(
      'not_found',
      `there is no ${req.method} ${url.pathname} here; ${routeHint(url.pathname, routes)}`,
    );
  });
  return app;
}

declare module 'h3' {
  interface H3EventContext {
    /** Of the request, if traces are asked for. */
    span?: RequestSpan;
  }
}

type Lookup = ReturnType<typeof lookupIn>;

function addRoute(app: H3, service: Service, path: string, methods: Partial<Record<Method, Route>>): void {
  const allowed = Object.keys(methods).join(', ');
  app.all(path, (event) => {
    const { method } = event.req;
    const route = routeOf(methods, method);
    if (event.req.headers.get('upgrade')?.toLowerCase() === 'websocket') {
      throw new RequestError('no_websockets', `${event.url.pathname} has no WebSocket; ask by plain HTTP`);
    }
    if (route) {
      const answer = () => route.handle(service, event);
      const open = () => (service.onDemand ? whileOpens(service, event, route, answer) : answer());
      const { span } = event.context;
      return service.metrics.timed(`${method} ${path}`, () => (span ? span.run(path, open) : open()));
    }
    throw new RequestError('method_not_allowed', `${event.url.pathname} takes ${allowed}, got ${method}`, {
      headers: { allow: allowed },
    });
  });
}

/** Sets the common headers, refuses requests without access, and turns errors into error replies. */
async function admit(
  service: Service,
  { lookup, keys }: { lookup: Lookup; keys: Keys },
  event: H3Event,
  next: () => unknown,
): Promise<unknown> {
  const { req, url, res } = event;
  const call = startCall(req.method, url.pathname, req.headers.get('x-request-id'));
  event.context.call = call;
  const span = service.tracing?.request(call, req.headers);
  if (span) event.context.span = span;
  // The server does not wait for requests that arrive while it stops.
  const counted = service.stopping ? 0 : 1;
  service.replies += counted;
  onDispose(event, (reason) => {
    service.replies -= counted;
    logCall(service.log, call, reason !== undefined);
    span?.end();
  });
  res.headers.set('x-request-id', call.id);
  setHeaders(event, corsHeaders(req.headers, service.options.corsOrigins));
  try {
    if (service.options.unixSocket === undefined) checkHost(req.headers.get('host'), service.options.host);
    if (req.method === 'OPTIONS') {
      setHeaders(event, preflightHeaders(req.headers, service.options.corsOrigins));
      call.status = res.status = 204;
      return null;
    }
    checkSite(req, service.options.corsOrigins);
    const access = routeOf(lookup(url.pathname), req.method)?.access ?? 'key';
    const caller = access === 'open' ? null : identify(event, keys, access);
    keepStream(service, event, call.id);
    const value = keepReply(service, event, await (caller ? runAs(caller, next) : next()));
    call.status = res.status ?? 200;
    const node = req.runtime?.node?.res;
    if (node && isEventStream(res.headers)) takesComments(node as ServerResponse);
    return value;
  } catch (error) {
    return errorReply(service, lookup, event, error);
  }
}

/** Returns whose request it is, and counts it against the limits of the key; null where the route needs no key. Throws RequestError. */
function identify(event: H3Event, keys: Keys, access: 'key' | 'admin'): Caller | null {
  const { req, context } = event;
  const caller = innerCaller(req) ?? callerOf(req.headers, keys, access);
  if (caller && context.call) context.call.key = caller.name;
  if (caller?.limits && !/^(GET|HEAD)$/.test(req.method)) {
    const end = caller.limits.begin();
    // A resumable stream runs on when its connection has closed.
    onDispose(event, () => (context.kept ? context.kept.whenEnded(end) : end()));
    setHeaders(event, caller.limits.headers());
  }
  return caller;
}

function errorReply(service: Service, lookup: Lookup, event: H3Event, thrown: unknown): unknown {
  const error = thrown instanceof CutShort ? thrown.cause : thrown;
  if (isUnforeseen(error)) service.log.error(error);
  const reply = toErrorReply(error);
  const { status, headers, body } = reply;
  event.res.status = status;
  setHeaders(event, headers);
  const { call } = event.context;
  if (call) {
    call.status = status;
    call.refusal = body.error;
  }
  const { req, url } = event;
  const errors = errorsOf(lookup(url.pathname), req.method, url.pathname);
  const about = { requestId: call?.id ?? null, cutShort: thrown instanceof CutShort ? thrown.reply : {} };
  const whole = errors.whole?.(reply, about) ?? errors.event(reply);
  keepError(event, errors.event(reply));
  return whole;
}

const isEventStream = (headers: Headers): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') ?? false;

function setHeaders(event: H3Event, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) event.res.headers.set(name, value);
}
