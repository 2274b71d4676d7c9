// Message for an unknown address: the route that was probably meant.

import type { RouteTable } from './route.ts';

/** Shorter ones begin too many addresses to say which was meant. */
const SHORTEST_BEGINNING = 4;

/** `did you mean POST /v1/…?`, or where all addresses are listed. */
export function routeHint(pathname: string, routes: RouteTable): string {
  const typed = bare(pathname);
  const own = (path: string): string => path.replace(/^\/(v1\/)?/, '');
  const known = Object.keys(routes).filter((path) => own(path) !== '' && !/[:*]/.test(path));
  const meant =
    known.find((path) => own(path) === typed) ??
    // A base URL that was a whole address already.
    known.find((path) => pathname.replace(/\/+$/, '').endsWith(`/${own(path)}`)) ??
    known.find((path) => typed.length >= SHORTEST_BEGINNING && own(path).startsWith(typed));
  if (meant === undefined) return 'GET /docs lists what there is';
  return `did you mean ${Object.keys(routes[meant]!).join(' or ')} ${meant}?`;
}

/** The path without prefixes that clients repeat or leave out. */
function bare(path: string): string {
  return path.replace(/^(\/+(v1|api|openai)(?=\/|$))*\/*/, '').replace(/\/+$/, '');
}
