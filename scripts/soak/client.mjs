// The HTTP client of the soak: JSON, forms, server-sent events parsed without a library, and reproducible random numbers.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** mulberry32. */
export function createRandom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    int: (below) => Math.floor(next() * below),
    chance: (share) => next() < share,
    pick: (list) => list[Math.floor(next() * list.length)],
  };
}

/** A refusal that a busy server may give to any request: not an error of ours, but well-formed. */
export class Refused extends Error {}

export function createClient(base) {
  const send = async (method, path, body, { signal, headers } = {}) => {
    const isForm = body instanceof FormData;
    return fetch(base + path, {
      method,
      signal,
      headers: { ...(body !== undefined && !isForm && { 'content-type': 'application/json' }), ...headers },
      body: body === undefined || isForm || typeof body === 'string' ? body : JSON.stringify(body),
    });
  };
  const json = async (method, path, body, options) => {
    const reply = await send(method, path, body, options);
    return { status: reply.status, headers: reply.headers, body: await reply.json() };
  };
  /** Returns the body of a reply with status 200; throws Refused if the server says that it is busy or that a time limit is over. */
  const wanted = async (method, path, body, options) => {
    const reply = await json(method, path, body, options);
    if (reply.status !== 200) throw failure(path, reply);
    return reply.body;
  };
  return {
    send,
    json,
    get: (path, options) => wanted('GET', path, undefined, options),
    post: (path, body, options) => wanted('POST', path, body, options),
    /** All events of a stream; `pause`: ms between two reads. */
    async stream(path, body, { pause = 0, ...options } = {}) {
      const reply = await send('POST', path, body, options);
      if (!reply.ok) throw failure(path, { status: reply.status, body: await reply.json() });
      assert.match(reply.headers.get('content-type'), /^text\/event-stream/);
      const events = [];
      for await (const event of readEvents(reply.body, pause)) events.push(event);
      return events;
    },
  };
}

const BUSY = new Set(['overloaded', 'timed_out']);

function failure(path, { status, body }) {
  const isRefusal = BUSY.has(body?.error?.code) || body?.error?.type === 'overloaded_error';
  const text = `${path} answered ${status}: ${JSON.stringify(body)}`;
  return isRefusal ? new Refused(text) : new Error(text);
}

/** `{ name, data }` of each event, data as text. Throws where a line is none of the format, or the stream ends within an event. */
export async function* readEvents(body, pause = 0) {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  for await (const bytes of body) {
    const blocks = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const event = {};
      for (const line of block.split('\n')) {
        const [, field, value] = /^(event|data|): ?(.*)$/s.exec(line) ?? assert.fail(`not an event: ${line}`);
        if (field === 'event') event.name = value;
        if (field === 'data') event.data = value;
      }
      if (event.data !== undefined) yield event;
    }
    if (pause > 0) await sleep(pause);
  }
  assert.equal(rest, '', 'the stream ends within an event');
}

/** Returns the parsed events of a stream without its end marker. */
export function dataOf(events) {
  return events.filter(({ data }) => data !== '[DONE]').map(({ data }) => JSON.parse(data));
}

/** Checks that an error has OpenAI's or Anthropic's envelope and a matching status. */
export function checkRefusal(path, { status, body }, text = '') {
  const names = path.startsWith('/v1/messages') ? ['message', 'type'] : ['message', 'type', 'param', 'code'];
  const isEnvelope = names.every((name) => name in (body?.error ?? {}));
  const isOurs = status >= 500 && !BUSY.has(body?.error?.code) && body?.error?.type !== 'overloaded_error';
  assert.ok(
    status >= 400 && !isOurs && isEnvelope,
    `${path} ${text.slice(0, 300)} was answered with ${status}: ${JSON.stringify(body)}`,
  );
}
