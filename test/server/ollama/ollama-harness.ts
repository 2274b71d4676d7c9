// A fake model behind Ollama's routes.

import { expect } from 'vitest';
import { MODEL_KINDS } from '../../../src/index.ts';
import type { ServerOptions } from '../../../src/server/service/service.ts';
import { createFakeEmbeddingModel } from '../fake-embedding-model.ts';
import { start } from '../harness.ts';
import { type Script, script } from '../scripted.ts';

export { EVERYTHING, HELLO } from '../responses/response-harness.ts';

export interface Line {
  model?: string;
  created_at?: string;
  message?: Said;
  response?: string;
  thinking?: string;
  done?: boolean;
  done_reason?: string;
  error?: string;
  [member: string]: unknown;
}

interface Said {
  role: string;
  content: string;
  thinking?: string;
  tool_calls?: { id: string; function: { index: number; name: string; arguments: object } }[];
}

export async function startOllama(of: Script, options: Partial<ServerOptions> = {}) {
  const harness = await start(options, { names: ['org/chat'] });
  script(harness.model, of);
  const embedder = createFakeEmbeddingModel();
  harness.server.addModel({ names: ['vectors'], kind: MODEL_KINDS.embedding }).ready(embedder);
  const send = (path: string, body?: object, method = body ? 'POST' : 'GET') =>
    fetch(`${harness.url}/api/${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  const ask = async (path: string, body?: object, method?: string) => {
    const response = await send(path, body, method);
    return { status: response.status, headers: response.headers, body: (await response.json()) as Line };
  };
  const messages = [{ role: 'user', content: 'Hi' }];
  const chat = (more: object = {}) => ask('chat', { model: 'chat', messages, stream: false, ...more });
  const generate = (more: object = {}) =>
    ask('generate', { model: 'chat', prompt: 'Hi', stream: false, ...more });
  /** Streaming is the default. */
  const stream = async (path: 'chat' | 'generate', more: object = {}) => {
    const given = path === 'chat' ? { messages } : { prompt: 'Hi' };
    const response = await send(path, { model: 'chat', ...given, ...more });
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const text = await response.text();
    expect(text.endsWith('\n')).toBe(true);
    const lines = text.slice(0, -1).split('\n');
    return lines.map((line) => JSON.parse(line) as Line);
  };
  return { ...harness, embedder, send, ask, chat, generate, stream };
}

/** Joins the texts and lists the calls of a reply, for both forms. */
export function joined(lines: Line[]) {
  const text = (of: (line: Line) => string | undefined): string =>
    lines.map((line) => of(line) ?? '').join('');
  return {
    text: text(({ message, response }) => message?.content ?? response),
    thinking: text(({ message, thinking }) => message?.thinking ?? thinking),
    calls: lines.flatMap(({ message }) => message?.tool_calls ?? []),
    logprobs: lines.flatMap(({ logprobs }) => (logprobs as object[] | undefined) ?? []),
    reason: lines.at(-1)?.done_reason,
    tokens: lines.at(-1)?.['eval_count'],
  };
}
