// Streams whose form throws: they end with the error, and the server continues.

import type { H3Event } from 'h3';
import { describe, expect, it, vi } from 'vitest';
import { startFold } from '../../../src/server/text/reply-fold.ts';
import type { Service } from '../../../src/server/service/service.ts';
import { MARKED_EVENTS } from '../../../src/server/http/sse.ts';
import { type Send, streamText, type TextForm } from '../../../src/server/text/text-reply.ts';
import type { TextEvent } from '../../../src/index.ts';

const EVENTS: TextEvent[] = [
  { type: 'accepted', promptTokens: 1, maxTokens: 10 },
  { type: 'delta', choice: 0, text: 'Well', ids: [1] },
];

const fails = (): never => {
  throw new Error('half a call');
};

/** Returns what the client reads and what the log contains. */
async function follow(broken: 'part' | 'end' | 'good end' | 'any end') {
  const error = vi.fn();
  const events = (async function* () {
    yield* EVENTS;
  })();
  const service = { options: {}, log: { error } } as unknown as Service;
  const event = { context: {}, res: { headers: new Headers() } } as unknown as H3Event;
  const call = { runs: [{ fold: startFold(1), events, timing: {} }], abort() {} };
  const form = (send: Send): TextForm => ({
    part: (_, { kind }) => (broken === 'part' ? fails() : send(kind)),
    end: () => (broken === 'end' ? fails() : send('end')),
    finish(cause) {
      if (broken === 'any end' || (broken === 'good end' && !cause)) fails();
      send(cause?.body.error.message ?? 'good');
    },
    whole: fails,
  });
  const body = streamText(service, event, call, form, MARKED_EVENTS);
  return { text: await new Response(body).text(), logged: error.mock.calls.map(([cause]) => String(cause)) };
}

describe('a reply whose form throws', () => {
  it.each(['part', 'end', 'good end'] as const)('at a %s, the client and the log are told', async (at) => {
    const { text, logged } = await follow(at);
    expect(text).toMatch(/"the server failed on this request; its log says why"\n\ndata: \[DONE\]\n\n$/);
    expect(logged).toEqual(['Error: half a call']);
  });

  it('at any end, the stream ends all the same', async () => {
    const { text, logged } = await follow('any end');
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
    expect(logged).toContain('Error: half a call');
  });
});
