// A fake model behind /v1/responses.

import { expect } from 'vitest';
import type { ServerOptions } from '../../../src/server/service/service.ts';
import { start } from '../harness.ts';
import { readEvents, type Script, script } from '../scripted.ts';

export interface Item {
  id: string;
  type: string;
  status: string;
  [member: string]: unknown;
}

export interface Reply {
  id: string;
  status: string;
  output: Item[];
  error?: { code: string; param?: string | null; message: string } | null;
  [member: string]: unknown;
}

export const HELLO: Script = () => [{ say: 'Hello' }, { say: ' there' }, { end: 'stop' }];
export const EVERYTHING: Script = () => [
  { think: 'Let me' },
  { think: ' see' },
  { say: 'Well' },
  { say: ', then' },
  { call: 'look', arguments: ['{"at":', '"sky"}'] },
  { call: 'go', arguments: ['{}'] },
  { end: 'tool_calls' },
];

export async function startResponding(of: Script = HELLO, options: Partial<ServerOptions> = {}) {
  const harness = await start(options);
  script(harness.model, of);
  const send = (body: object) =>
    fetch(`${harness.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'default', ...body }),
    });
  const post = async (body: object) => {
    const response = await send(body);
    return { status: response.status, body: (await response.json()) as Reply };
  };
  const stream = async (body: object) => {
    const response = await send({ stream: true, ...body });
    const events = readEvents(await response.text()).map(({ name, data }) => {
      const event = data as { type: string; sequence_number: number; response?: Reply } & Record<
        string,
        unknown
      >;
      expect(event.type).toBe(name);
      return event;
    });
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
    return events;
  };
  const ask = async (path: string, method = 'GET') => {
    const response = await fetch(`${harness.url}/v1/responses/${path}`, { method });
    return { status: response.status, body: (await response.json()) as Reply & { data?: Item[] } };
  };
  return { ...harness, post, stream, ask };
}
