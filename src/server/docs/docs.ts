// GET /, /openapi.json and /docs: the interface as OpenAPI and as an HTML page that needs no network and no foreign scripts.

import { createHash } from 'node:crypto';
import type { H3Event } from 'h3';
import { docsPage } from './docs-page.ts';
import { DOCS_SCRIPT, DOCS_STYLE } from './docs-parts.ts';
import { openApi, type OpenApi } from './openapi.ts';
import type { RouteTable } from '../route.ts';
import type { Service } from '../service.ts';

const made = new WeakMap<Service, Promise<OpenApi>>();

/** Returns the OpenAPI document, which is built at the first request. */
function interfaceOf(service: Service, routes: RouteTable): Promise<OpenApi> {
  const document = made.get(service) ?? openApi(routes, service.options.version ?? 'unknown');
  made.set(service, document);
  return document;
}

export const openApiFile = (service: Service, routes: RouteTable): Promise<OpenApi> =>
  interfaceOf(service, routes);

/** Content security policy of the page: it loads nothing, and sends requests to this server only. */
const POLICY = [
  "default-src 'none'",
  `style-src '${hashOf(DOCS_STYLE)}'`,
  `script-src '${hashOf(DOCS_SCRIPT)}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

export async function docs(service: Service, event: H3Event, routes: RouteTable): Promise<string> {
  event.res.headers.set('content-type', 'text/html; charset=utf-8');
  event.res.headers.set('content-security-policy', POLICY);
  return docsPage(await interfaceOf(service, routes));
}

/** A client that asks for HTML gets the page; any other sees that the server is alive. */
export function home({ options }: Service, { req, res }: H3Event): unknown {
  if (req.headers.get('accept')?.includes('text/html')) {
    res.status = 302;
    res.headers.set('location', '/docs');
    return '';
  }
  const { version } = options;
  return { name: 'svc-engine', version, docs: '/docs', openapi: '/openapi.json', models: '/v1/models' };
}
