// A server on a fake model, on a free port, closed when the test ends.

import { expect } from 'vitest';
import { type RunningServer, type ServedModel, startServer } from '../../src/server/lifecycle.ts';
import type { RouteTable } from '../../src/server/service/route.ts';
import type { ServerOptions } from '../../src/server/service/service.ts';
import type { TokenLogprob } from '../../src/server/text/text-reply-schema.ts';
import { checkReplies } from './docs/checked-replies.ts';
import { createFakeModel, type FakeModel } from './fake-model.ts';
import { afterEachTest } from '../hooks.ts';

export interface Harness {
  server: RunningServer;
  served: ServedModel;
  model: FakeModel;
  url: string;
  /** Lines of log, with their level. */
  lines: string[];
  post: (body: unknown, init?: RequestInit) => Promise<Response>;
}

const open: { server: RunningServer; endChecks(): void }[] = [];
afterEachTest(async () => {
  const ended = open.splice(0);
  await Promise.all(ended.map(({ server }) => server.close()));
  for (const { endChecks } of ended) endChecks();
});

export async function start(
  options: Partial<ServerOptions> = {},
  { ready = true, names = [], added = {} }: { ready?: boolean; names?: string[]; added?: RouteTable } = {},
): Promise<Harness> {
  const lines: string[] = [];
  const line =
    (level: string) =>
    (...parts: unknown[]) =>
      void lines.push(`${level} ${parts.map(String).join(' ')}`);
  const log = { error: line('error'), warn: line('warn'), info: line('info'), debug: line('debug') };
  const server = await startServer({ host: '127.0.0.1', port: 0, drainTime: 300, ...options }, log, added);
  // The schemas of the server's own routes are known to the check.
  const endChecks = Object.keys(added).length === 0 ? checkReplies(server.url) : () => {};
  open.push({ server, endChecks });
  const model = createFakeModel();
  const served = server.addModel({ names });
  if (ready) served.ready(model);
  const post = (body: unknown, init: RequestInit = {}) =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init,
    });
  return { server, served, model, url: server.url, lines, post };
}

/** The smallest request, with one message. */
export function ask(content: unknown, more: object = {}) {
  return { model: 'default', messages: [{ role: 'user', content }], ...more };
}

export interface Delta {
  role?: string;
  content?: string;
  reasoning_content?: string;
  reasoning?: string;
  tool_calls?: { index: number; id?: string; type?: string; function: CalledFunction }[];
  function_call?: CalledFunction;
  hidden_states?: unknown;
}

interface CalledFunction {
  name?: string;
  arguments: string;
}

export interface Chunk {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: {
    index: number;
    delta: Delta;
    logprobs: { content: TokenLogprob[] } | null;
    finish_reason: string | null;
    matched_stop: string | number | null;
    token_ids?: number[];
    prompt_token_ids?: number[];
  }[];
  svcext?: unknown;
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  error?: { message: string; code: string };
}

/** The data lines of a stream; the last one must be the end marker. */
export function readChunks(text: string): Chunk[] {
  const data = text
    .split('\n\n')
    .filter((block) => block.startsWith('data: '))
    .map((block) => block.slice('data: '.length));
  expect(data.at(-1)).toBe('[DONE]');
  return data.slice(0, -1).map((json) => JSON.parse(json) as Chunk);
}

export interface Completion {
  choices: {
    message: Record<string, unknown>;
    logprobs: { content: TokenLogprob[] } | null;
    finish_reason: string;
    matched_stop: unknown;
    hidden_states?: unknown;
    token_ids?: number[];
    prompt_token_ids?: number[];
  }[];
  usage: Record<string, unknown>;
  svcext?: Record<string, unknown>;
}

export async function plain(
  { post }: Pick<Harness, 'post'>,
  content: string,
  more: object = {},
): Promise<Completion> {
  const response = await post(ask(content, more));
  expect(response.status).toBe(200);
  return (await response.json()) as Completion;
}

export async function streamed(
  { post }: Pick<Harness, 'post'>,
  content: string,
  more: object = {},
): Promise<Chunk[]> {
  const response = await post(ask(content, { ...more, stream: true }));
  expect(response.status).toBe(200);
  return readChunks(await response.text());
}

export const parts = (chunks: Chunk[]) => chunks.flatMap(({ choices }) => choices);
export const deltas = (chunks: Chunk[]) => parts(chunks).map(({ delta }) => delta);

/** Waits until a condition holds, for at most two seconds. */
export async function eventually(check: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 2000;
  while (!check()) {
    if (Date.now() > deadline) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
