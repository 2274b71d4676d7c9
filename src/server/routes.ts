// The table of routes: handler, access, and entry in the API page.

import { ADMIN_ROUTES } from './admin/admin.ts';
import { PROBE_ROUTES } from './admin/readiness.ts';
import { ANTHROPIC_ROUTES } from './anthropic/anthropic.ts';
import { AUDIO_ROUTES } from './audio/audio.ts';
import { BATCH_ROUTES } from './batches/batches.ts';
import { FILE_ROUTES } from './files/files.ts';
import { CHAT } from './chat/chat.ts';
import { COMPLETIONS } from './completions/completions.ts';
import { docsRoutes } from './docs/docs.ts';
import { type Envelope, OLLAMA_ERRORS, OPENAI_ERRORS } from './http/errors.ts';
import { IMAGE_ROUTES } from './images/images.ts';
import { OLLAMA_ROUTES } from './ollama/ollama-routes.ts';
import { RESPONSE_ROUTES } from './responses/responses.ts';
import { VIDEO_ROUTES } from './videos/videos.ts';
import { MANAGE_ROUTES } from './manage/manage.ts';
import { SCORE_ROUTES } from './scores/score-routes.ts';
import { MODEL_ROUTES } from './service/models.ts';
import type { Method, Route, RouteTable } from './service/route.ts';
import { STREAM_ROUTES } from './service/streams.ts';
import { TOKEN_ROUTES } from './tokens/tokenize.ts';
import { WEB_ROUTES } from './web/web.ts';

/** All routes of a server, with those that a program adds. */
export function routesWith(added: RouteTable): RouteTable {
  const routes: RouteTable = {
    '/v1/chat/completions': { POST: CHAT },
    '/v1/completions': { POST: COMPLETIONS },
    ...RESPONSE_ROUTES,
    ...ANTHROPIC_ROUTES,
    ...TOKEN_ROUTES,
    ...AUDIO_ROUTES,
    ...SCORE_ROUTES,
    ...IMAGE_ROUTES,
    ...VIDEO_ROUTES,
    ...FILE_ROUTES,
    ...BATCH_ROUTES,
    ...MODEL_ROUTES,
    ...STREAM_ROUTES,
    ...MANAGE_ROUTES,
    ...ADMIN_ROUTES,
    ...docsRoutes(() => routes),
    ...WEB_ROUTES,
    ...PROBE_ROUTES,
    ...OLLAMA_ROUTES,
    ...added,
  };
  return routes;
}

export const ROUTES = routesWith({});

/** Finds the methods of an address. */
type Lookup = (pathname: string) => Partial<Record<Method, Route>> | undefined;

export function lookupIn(routes: RouteTable): Lookup {
  const patterns = Object.entries(routes).map(([path, methods]) => ({
    pattern: new RegExp(`^${path.replace(/:\w+/g, '[^/]+').replace('**', '.+')}$`),
    methods,
  }));
  return (asked) => {
    // The router takes an address with a slash at its end for the one without it, whose access is then what counts.
    const pathname = asked.replace(/(?<=.)\/$/, '');
    return routes[pathname] ?? patterns.find(({ pattern }) => pattern.test(pathname))?.methods;
  };
}

/** Returns the route of a method; null if there is none. A HEAD is answered as a GET. */
export function routeOf(methods: ReturnType<Lookup>, method: string): Route | null {
  return methods?.[(method === 'HEAD' ? 'GET' : method) as Method] ?? null;
}

/** The form of errors of an address, also where it has no such route or method. */
export function errorsOf(methods: ReturnType<Lookup>, method: string, pathname: string): Envelope {
  const route = routeOf(methods, method) ?? Object.values(methods ?? {})[0];
  if (route) return route.errors ?? OPENAI_ERRORS;
  return /^\/api(\/|$)/.test(pathname) ? OLLAMA_ERRORS : OPENAI_ERRORS;
}
