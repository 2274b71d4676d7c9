// Every reply that a test reads over fetch from a server that it names, itself or by a client package, is checked against the schema of its route in
// /openapi.json: an additional, missing or wrong member fails the test. The part of a stream that was read before leaving is
// checked too.

import { expect } from 'vitest';
import type { z } from 'zod';
import { replySchemas } from '../../../src/server/docs/openapi.ts';
import { OPENAI_ERRORS } from '../../../src/server/http/errors.ts';
import { errorsOf, lookupIn, routeOf, ROUTES } from '../../../src/server/routes.ts';
import { afterEachTest } from '../../hooks.ts';

export interface Received {
  method: string;
  pathname: string;
  status: number;
  /** Media type, without its parameters. */
  type: string;
  text: string;
  /** False if the reader left early. */
  isWhole: boolean;
}

/** Origins of the servers whose replies are checked. */
const checked = new Set<string>();
let problems: string[] | null = null;

/** Checks all replies of the server at `url` until the returned function is called. */
export function checkReplies(url: string): () => void {
  problems ??= overhear();
  const { origin } = new URL(url);
  checked.add(origin);
  return () => void checked.delete(origin);
}

/** Replaces fetch in this process; each test fails on the problems of the replies that it received. */
function overhear(): string[] {
  const problems: string[] = [];
  afterEachTest(() => expect(problems.splice(0)).toEqual([]));
  const send = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const response = await send(input, init);
    const { url, method } = new Request(input, { method: init?.method ?? 'GET' });
    const { origin, pathname } = new URL(url);
    if (!checked.has(origin)) return response;
    const { status, headers } = response;
    const [type = ''] = (headers.get('content-type') ?? '').split(';');
    return overheard(response, (text, isWhole) => {
      const received = { method, pathname, status, type, text, isWhole };
      problems.push(...problemsOf(received).map((problem) => `${method} ${pathname} ${status}: ${problem}`));
    });
  };
  return problems;
}

/** Copies the body while it is read, at the reader's pace. */
function overheard(response: Response, tell: (text: string, isWhole: boolean) => void): Response {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        text += decoder.decode(value, { stream: !done });
        if (!done) return controller.enqueue(value);
        tell(text, true);
        controller.close();
      },
      cancel(reason) {
        tell(text, false);
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, response);
}

const SCHEMAS: Readonly<Record<string, z.ZodType>> = await replySchemas(ROUTES);
const lookup = lookupIn(ROUTES);

/** Returns the deviations of a reply from its route's schema. */
export function problemsOf({ method, pathname, status, type, text, isWhole }: Received): string[] {
  const methods = lookup(pathname);
  const { reply, event, notReady, gives, framing } = routeOf(methods, method) ?? {};
  const errors = errorsOf(methods, method, pathname);
  // A kept stream has the events of another route.
  if (type === gives && type === 'text/event-stream') return [];
  if (type === 'text/event-stream' || type === 'application/x-ndjson') {
    const data = type === 'text/event-stream' ? dataOf(text) : text.split('\n').slice(0, -1);
    const hasEnd = data.at(-1) === '[DONE]';
    const end = isWhole && hasEnd !== (framing?.end !== undefined) ? [`ended with ${data.at(-1)}`] : [];
    return [
      ...data.slice(0, hasEnd ? -1 : undefined).flatMap((json) => misfit(event, JSON.parse(json))),
      ...end,
    ];
  }
  if (!isWhole || status === 302) return [];
  // Browsers get the web page at /, whose reply is JSON for other clients.
  if (pathname === '/' && type === 'text/html') return [];
  if (type !== 'application/json')
    return new RegExp(`^${gives?.replace('*', '.*')}$`).test(type) ? [] : [`came as ${type}`];
  const body = JSON.parse(text) as object;
  if (status < 400) return misfit(reply, body);
  if (status === 503 && !('error' in body)) return misfit(notReady, body);
  const { error: _, ...said } = body as { error: unknown };
  const isCut = errors === OPENAI_ERRORS && Object.keys(said).length > 0;
  // A response has its own member `error`, which this one replaces.
  const cut = 'output' in said ? { ...said, error: null } : said;
  return [...misfit(errors.schema, body), ...(isCut ? misfit(reply, cut) : [])];
}

/** Returns the data of complete events. */
function dataOf(text: string): string[] {
  const blocks = text.split('\n\n').slice(0, -1);
  return blocks.flatMap((block) => /^(?:id: \d+\n)?(?:event: .*\n)?data: (.*)$/.exec(block)?.slice(1) ?? []);
}

function misfit(name: string | undefined, value: unknown): string[] {
  const shown = JSON.stringify(value).slice(0, 1000);
  if (!name) return [`no schema says ${shown}`];
  const { error } = SCHEMAS[name]!.safeParse(value);
  return error ? [`${JSON.stringify(error.issues).slice(0, 2000)} in ${shown}`] : [];
}
