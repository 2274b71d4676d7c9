// A server whose fake model repeats its prompt and counts to three, for POST /v1/completions.

import { expect } from 'vitest';
import type { ServerOptions } from '../../../src/server/service/service.ts';
import { start } from '../harness.ts';
import { readEvents, script } from '../scripted.ts';

interface Choice {
  index: number;
  text: string;
  finish_reason: string | null;
  matched_stop: unknown;
  logprobs: Record<string, unknown> | null;
  token_ids?: number[];
  prompt_token_ids?: number[];
}

export interface Reply {
  id: string;
  object: string;
  choices: Choice[];
  usage?: Record<string, number>;
  error?: { code: string; param: string | null; message: string };
}

export async function startCompleting(options: Partial<ServerOptions> = {}) {
  const harness = await start(options);
  script(harness.model, (request) => {
    const { prompt } = request;
    const name = 'text' in prompt ? prompt.text : 'ids' in prompt ? `ids ${prompt.ids.length}` : '?';
    return [{ say: `<${name}>` }, { say: ' two' }, { say: ' three' }, { end: 'stop' }];
  });
  const send = (body: object) =>
    fetch(`${harness.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'default', ...body }),
    });
  const post = async (body: object) => {
    const response = await send(body);
    return { status: response.status, headers: response.headers, body: (await response.json()) as Reply };
  };
  const stream = async (body: object) => {
    const response = await send({ stream: true, ...body });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const events = readEvents(await response.text());
    expect(events.at(-1)!.data).toBe('[DONE]');
    return events.slice(0, -1).map(({ data }) => data as Reply);
  };
  return { ...harness, post, stream };
}

export const textsOf = (chunks: Reply[]): string[] => {
  const texts: string[] = [];
  for (const { choices } of chunks)
    for (const { index, text } of choices) texts[index] = (texts[index] ?? '') + text;
  return texts;
};
