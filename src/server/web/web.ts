// GET / and /web/…: the page of src/web, as the build wrote it. Other clients than browsers get name, version and links at /.

import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import type { H3Event } from 'h3';
import { RequestError } from '../http/errors.ts';
import type { RouteTable } from '../service/route.ts';
import type { Service } from '../service/service.ts';

/** Three folders up, both from src/server/web and from dist/server/web. */
const FILES = new URL('../../../dist/web/', import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
};

/**
 * Content security policy of the page: scripts and styles are the server's own files, and requests go to the server, to tool servers on this machine, and to
 * those that the server was started with.
 */
const policyFor = (origins: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self' data: blob:",
    `connect-src ${["'self'", 'http://localhost:*', 'http://127.0.0.1:*', ...origins].join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** A browser gets the page, or, without it, is sent to /docs; any other client sees that the server is alive. */
async function home({ options }: Service, { req, res }: H3Event): Promise<unknown> {
  if (!req.headers.get('accept')?.includes('text/html')) {
    const { version } = options;
    return { name: 'svc-engine', version, docs: '/docs', openapi: '/openapi.json', models: '/v1/models' };
  }
  if (options.web === false || !existsSync(FILES)) {
    res.status = 302;
    res.headers.set('location', '/docs');
    return '';
  }
  res.headers.set('content-type', 'text/html; charset=utf-8');
  res.headers.set('content-security-policy', policyFor(options.mcpOrigins ?? []));
  res.headers.set('referrer-policy', 'no-referrer');
  res.headers.set('cache-control', 'no-cache');
  return readFile(new URL('index.html', FILES), 'utf8');
}

/** A file of the page; names are those that the build wrote, so no path leads out of its folder. */
async function file({ options }: Service, { url, res }: H3Event): Promise<Buffer> {
  const name = url.pathname.slice('/web/'.length);
  const names = options.web === false ? [] : await readdir(FILES).catch(() => []);
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  if (!type || !names.includes(name))
    throw new RequestError('not_found', `the page has no file ${JSON.stringify(name)}; it begins at /`);
  res.headers.set('content-type', type);
  res.headers.set('x-content-type-options', 'nosniff');
  res.headers.set(
    'cache-control',
    name.startsWith('part-') ? 'public, max-age=31536000, immutable' : 'no-cache',
  );
  return readFile(new URL(name, FILES));
}

const COMMON = { group: 'Server', access: 'open' } as const;

export const WEB_ROUTES: RouteTable = {
  '/': {
    GET: {
      handle: home,
      summary: 'The web page for browsers; name, version and links for other clients.',
      ...COMMON,
      schemas: [() => import('../docs/docs-reply-schema.ts')],
      reply: 'Home',
    },
  },
  '/web/**': {
    GET: {
      handle: file,
      summary: 'A file of the web page.',
      ...COMMON,
      gives: 'text/*',
    },
  },
};
