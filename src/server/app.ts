// The routes, and what every request passes on its way to them: id, log line, Host, CORS, key, errors.

import { H3, type H3Event, onDispose } from 'h3';
import { checkApiKey, checkHost, corsHeaders, preflightHeaders } from './access.ts';
import { chatCompletions } from './chat.ts';
import { embeddings } from './embeddings.ts';
import { isUnforeseen, RequestError, toErrorReply } from './errors.ts';
import { imageContent, imageEdits, imageGenerations } from './images.ts';
import { modelEntry, modelList } from './models.ts';
import { logCall, startCall } from './request-log.ts';
import type { Service } from './service.ts';

type Handler = (event: H3Event) => unknown;
type Method = 'GET' | 'POST';

/** Asked without the key: probes, and pictures, whose addresses nobody can guess, so that a page can show them. */
const OPEN_PATHS = /^\/(livez|readyz|health|v1\/images\/[^/]+\/content)$/;

export function createApp(service: Service): H3 {
  const app = new H3({
    silent: true,
    allowMalformedURL: true,
    onError: (error, event) => errorReply(service, event, error),
  });
  app.use((event, next) => admit(service, event, next));

  const routes = routesOf(service);
  for (const [path, handlers] of Object.entries(routes)) route(app, path, handlers);
  app.all('/**', ({ req, url }) => {
    throw new RequestError(
      'not_found',
      `there is no ${req.method} ${url.pathname} here; this server has ${routeList(routes)}`,
    );
  });
  return app;
}

type Handlers = Partial<Record<Method, Handler>>;

function routesOf(service: Service): Record<string, Handlers> {
  return {
    '/v1/chat/completions': { POST: (event) => chatCompletions(service, event) },
    '/v1/embeddings': { POST: (event) => embeddings(service, event) },
    '/v1/images/generations': { POST: (event) => imageGenerations(service, event) },
    '/v1/images/edits': { POST: (event) => imageEdits(service, event) },
    '/v1/images/:id/content': { GET: (event) => imageContent(service, event) },
    '/v1/models': { GET: () => modelList(service) },
    '/v1/models/**': {
      GET: ({ url }) => modelEntry(service, decode(url.pathname.slice('/v1/models/'.length))),
    },
    '/livez': { GET: () => ({ status: 'alive' }) },
    '/readyz': { GET: (event) => readiness(service, event) },
    '/health': { GET: (event) => readiness(service, event) },
  };
}

/** Without those that only add a name to another. */
function routeList(routes: Record<string, Handlers>): string {
  return Object.entries(routes)
    .filter(([path]) => !path.endsWith('/**'))
    .map(([path, handlers]) => `${Object.keys(handlers).join(' and ')} ${path}`)
    .join(', ');
}

function route(app: H3, path: string, handlers: Handlers): void {
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
    if (apiKey !== undefined && !OPEN_PATHS.test(url.pathname))
      checkApiKey(req.headers.get('authorization'), apiKey);
    const value = await next();
    call.status = res.status ?? 200;
    return value;
  } catch (error) {
    return errorReply(service, event, error);
  }
}

/** 200 once every model answers; until then 503 with how far the start has come. */
function readiness({ stopping, slots }: Service, event: H3Event): unknown {
  const models = slots.flatMap(({ names, phase }) => (phase.name === 'ready' ? names : []));
  const opening = slots.find(({ phase }) => phase.name === 'starting');
  if (!stopping && !opening && models.length > 0) return { status: 'ready', models };
  event.res.status = 503;
  event.res.headers.set('retry-after', '1');
  if (stopping) return { status: 'stopping' };
  const progress = opening?.phase.name === 'starting' ? opening.phase.progress : null;
  return { status: 'starting', progress, ...(models.length > 0 && { models }) };
}

function errorReply(service: Service, event: H3Event, error: unknown): unknown {
  if (isUnforeseen(error)) service.log.error(error);
  const { status, headers, body } = toErrorReply(error);
  event.res.status = status;
  setHeaders(event, headers);
  const { call } = event.context;
  if (call) {
    call.status = status;
    call.refusal = body.error;
  }
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
