// A fake model behind /v1/messages.

import type { ServerOptions } from '../../../src/server/service/service.ts';
import { start } from '../harness.ts';
import { type Script, script } from '../scripted.ts';

interface Reply {
  type?: string;
  error?: { type: string; message: string };
  [member: string]: unknown;
}

export { EVERYTHING, HELLO } from '../responses/response-harness.ts';

export async function startMessages(of: Script, options: Partial<ServerOptions> = {}) {
  const harness = await start(options);
  script(harness.model, of);
  const send = (path: string, body: object) =>
    fetch(harness.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(body),
    });
  const ask = async (path: string, body: object) => {
    const response = await send(path, body);
    return { status: response.status, body: (await response.json()) as Reply };
  };
  const post = (body: object) => ask('/v1/messages', { model: 'default', max_tokens: 50, ...body });
  return { ...harness, send, ask, post };
}
