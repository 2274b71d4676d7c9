// GET /openapi.json and /docs: the interface as OpenAPI and as an HTML page that needs no network and no foreign scripts.

import { createHash } from 'node:crypto';
import type { H3Event } from 'h3';
import { docsPage } from './docs-page.ts';
import { DOCS_SCRIPT, DOCS_STYLE } from './docs-parts.ts';
import { openApi, type OpenApi } from './openapi.ts';
import type { RouteTable } from '../service/route.ts';
import type { Service } from '../service/service.ts';

/** The routes that describe all routes of a server: an OpenAPI document, which is built at the first request, and a page. */
export function docsRoutes(all: () => RouteTable): RouteTable {
  const made = new WeakMap<Service, Promise<OpenApi>>();
  const interfaceOf = (service: Service): Promise<OpenApi> => {
    const document = made.get(service) ?? openApi(all(), service.options.version ?? 'unknown');
    made.set(service, document);
    return document;
  };
  const common = {
    group: 'Server',
    schemas: [() => import('./docs-reply-schema.ts')],
    access: 'open',
  } as const;
  return {
    '/openapi.json': {
      GET: {
        handle: interfaceOf,
        summary: 'This interface as OpenAPI 3.1.',
        ...common,
        reply: 'OpenApi',
      },
    },
    '/docs': {
      GET: {
        handle: async (service, event) => docs(event, await interfaceOf(service)),
        summary: 'This interface as a page, which loads nothing from elsewhere.',
        ...common,
        gives: 'text/html',
      },
    },
  };
}

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

function docs(event: H3Event, document: OpenApi): string {
  event.res.headers.set('content-type', 'text/html; charset=utf-8');
  event.res.headers.set('content-security-policy', POLICY);
  return docsPage(document);
}
