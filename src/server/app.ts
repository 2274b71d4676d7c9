// The routes, and what every request passes on its way to them: id, log line, Host, CORS, key, errors.

import { H3, type H3Event, onDispose } from 'h3';
import { checkApiKey, checkHost, corsHeaders, preflightHeaders } from './access.ts';
import { chatCompletions } from './chat.ts';
import { isUnforeseen, RequestError, toErrorReply } from './errors.ts';
import { matchModel, modelEntry, modelList } from './models.ts';
import { logCall, startCall } from './request-log.ts';
import { requireReady, type Service } from './service.ts';

type Handler = (event: H3Event) => unknown;
type Method = 'GET' | 'POST';

const OPEN_PATHS = new Set(['/livez', '/readyz', '/health']);

export function createApp(service: Service): H3 {
  const app = new H3({
    silent: true,
    allowMalformedURL: true,
    onError: (error, event) => errorReply(service, event, error),
  });
  app.use((event, next) => admit(service, event, next));

  route(app, '/v1/chat/completions', { POST: (event) => chatCompletions(service, event) });
  route(app, '/v1/models', { GET: () => modelList(requireReady(service), service.startedAt) });
  route(app, '/v1/models/**', {
    GET: ({ url }) => {
      const ready = requireReady(service);
      const id = decode(url.pathname.slice('/v1/models/'.length));
      return modelEntry(ready, matchModel(ready.names, id), service.startedAt);
    },
  });
  route(app, '/livez', { GET: () => ({ status: 'alive' }) });
  route(app, '/readyz', { GET: (event) => readiness(service, event) });
  route(app, '/health', { GET: (event) => readiness(service, event) });
  app.all('/**', ({ req, url }) => {
    throw new RequestError(
      'not_found',
      `there is no ${req.method} ${url.pathname} here; the API is under /v1`,
    );
  });
  return app;
}

function route(app: H3, path: string, handlers: Partial<Record<Method, Handler>>): void {
  const allowed = Object.keys(handlers).join(', ');
  app.all(path, (event) => {
    const { method } = event.req;
    const handler = handlers[(method === 'HEAD' ? 'GET' : method) as Method];
    if (handler) return handler(event);
    throw new RequestError('method_not_allowed', `${event.url.pathname} takes ${allowed}, got ${method}`, {
      headers: { allow: allowed },
    });
  });
}

/** Sets what every reply carries, refuses who may not ask, and turns what is thrown into an error reply. */
async function admit(service: Service, event: H3Event, next: () => unknown): Promise<unknown> {
  const { req, url, res } = event;
  const call = startCall(req.method, url.pathname, req.headers.get('x-request-id'));
  event.context.call = call;
  service.replies += 1;
  onDispose(event, (reason) => {
    service.replies -= 1;
    logCall(service.log, call, reason !== undefined);
  });
  res.headers.set('x-request-id', call.id);
  setHeaders(event, corsHeaders(req.headers, service.options.corsOrigins));
  try {
    checkHost(req.headers.get('host'), service.options.host);
    if (req.method === 'OPTIONS') {
      setHeaders(event, preflightHeaders(req.headers));
      call.status = res.status = 204;
      return null;
    }
    const { apiKey } = service.options;
    if (apiKey !== undefined && !OPEN_PATHS.has(url.pathname))
      checkApiKey(req.headers.get('authorization'), apiKey);
    const value = await next();
    call.status = res.status ?? 200;
    return value;
  } catch (error) {
    return errorReply(service, event, error);
  }
}

/** 200 once requests are answered; until then 503 with how far the start has come. */
function readiness({ phase }: Service, event: H3Event): unknown {
  if (phase.name === 'ready') return { status: 'ready', models: phase.names };
  event.res.status = 503;
  event.res.headers.set('retry-after', '1');
  return phase.name === 'starting'
    ? { status: 'starting', progress: phase.progress }
    : { status: 'stopping' };
}

function errorReply(service: Service, event: H3Event, error: unknown): unknown {
  if (isUnforeseen(error)) service.log.error(error);
  const { status, headers, body } = toErrorReply(error);
  event.res.status = status;
  setHeaders(event, headers);
  if (event.context.call) event.context.call.status = status;
  return body;
}

/** A path segment without its escapes; as it is where they are broken. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function setHeaders(event: H3Event, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) event.res.headers.set(name, value);
}
