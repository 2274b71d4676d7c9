// A fuzzed request sent and its answer judged: in time, in the terms of its interface, and never an error of ours.

import assert from 'node:assert/strict';
import { readEvents } from './client.mjs';

/** Milliseconds for any answer. Most take some; a few generate or draw, and wait for those that do. */
const ANSWER_LIMIT = 30_000;
/** Refusals of a server that has too much to do. */
const BUSY = new Set(['overloaded', 'timed_out', 'preempted']);

/** Returns the status of the reply after reading all of it; undefined if the client disconnected early or wrote to a raw socket. Rejects if the reply is wrong. */
export async function askFuzzed(base, request) {
  return request.run ? request.run(base, ANSWER_LIMIT) : ask(base, request);
}

async function ask(base, { method, path, body, headers, leavesAfter }) {
  const tooLate = AbortSignal.timeout(ANSWER_LIMIT);
  const leaves = leavesAfter === null || leavesAfter === undefined ? null : AbortSignal.timeout(leavesAfter);
  const signal = leaves ? AbortSignal.any([tooLate, leaves]) : tooLate;
  try {
    const reply = await fetch(base + path, { method, body, headers, signal, redirect: 'manual' });
    await checkReply(path, reply);
    return reply.status;
  } catch (error) {
    if (leaves?.aborted) return null;
    if (tooLate.aborted) assert.fail(`no answer after ${ANSWER_LIMIT} ms`);
    throw error;
  }
}

async function checkReply(path, reply) {
  const type = reply.headers.get('content-type') ?? '';
  if (reply.status >= 400) return checkEnvelope(path, reply.status, await reply.text());
  if (type.startsWith('text/event-stream')) {
    for await (const { data } of readEvents(reply.body))
      if (data !== '[DONE]') checkEvent(path, JSON.parse(data));
  } else if (type.startsWith('application/x-ndjson')) {
    for (const line of (await reply.text()).trim().split('\n')) checkEvent(path, JSON.parse(line));
  } else if (type.startsWith('application/json')) JSON.parse(await reply.text());
  else await reply.arrayBuffer();
}

/** An error may come within a stream; one that nobody foresaw may not. */
function checkEvent(path, event) {
  const error = event.error ?? event.response?.error;
  const code = error?.code ?? error?.type ?? '';
  assert.ok(
    !/^(internal|api_error|server_error)$/.test(code),
    `${path} broke off with ${JSON.stringify(event)}`,
  );
}

function checkEnvelope(path, status, text) {
  if (status === 426) return;
  const body = JSON.parse(text);
  const { error } = body;
  if (path.startsWith('/api/')) assert.equal(typeof error, 'string', text);
  else if (path.startsWith('/v1/messages'))
    assert.ok(body.type === 'error' && error.type && error.message, text);
  else
    for (const name of ['message', 'type', 'param', 'code'])
      assert.ok(name in (error ?? {}), `no ${name}: ${text}`);
  const isBusy =
    BUSY.has(error.code) || error.type === 'overloaded_error' || (status === 503 && path.startsWith('/api/'));
  assert.ok(status < 500 || isBusy, `answered with ${status}: ${text.slice(0, 600)}`);
}
