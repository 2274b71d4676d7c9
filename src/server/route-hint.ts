// Message for an unknown address: the route that was probably meant.

import type { RouteTable } from './service/route.ts';

/** Shorter names are the beginning of too many addresses for a suggestion. */
const SHORTEST_BEGINNING = 4;

/** Returns `did you mean POST /v1/…?`, or says where all addresses are listed. */
export function routeHint(pathname: string, routes: RouteTable): string {
  const typed = bare(pathname);
  const own = (path: string): string => path.replace(/^\/(v1\/)?/, '');
  const known = Object.keys(routes).filter((path) => own(path) !== '' && !/[:*]/.test(path));
  const meant =
    known.find((path) => own(path) === typed) ??
    // The client's base URL already ended with the route's path.
    known.find((path) => pathname.replace(/\/+$/, '').endsWith(`/${own(path)}`)) ??
    known.find((path) => typed.length >= SHORTEST_BEGINNING && own(path).startsWith(typed));
  if (meant === undefined) return 'GET /docs lists what there is';
  return `did you mean ${Object.keys(routes[meant]!).join(' or ')} ${meant}?`;
}

/** Returns the path without prefixes that clients repeat or leave out. */
function bare(path: string): string {
  return path.replace(/^(\/+(v1|api|openai)(?=\/|$))*\/*/, '').replace(/\/+$/, '');
}
