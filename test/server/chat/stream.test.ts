import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { ask, eventually, type Harness, readChunks, start } from '../harness.ts';

it('a stream has its headers and the role at once, and comments while nothing else is sent', async () => {
  const { model, post } = await start({ keepAlive: 40 });
  const response = await post(ask('hold', { stream: true }));
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let received = '';
  const readMore = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    received += decoder.decode(value);
    return !done;
  };
  // The model says nothing yet.
  await readMore();
  expect(received).toContain('"role":"assistant"');
  const roleEnds = received.indexOf('\n\n');
  while ((received.match(/^: ping$/gm)?.length ?? 0) < 3) await readMore();
  expect(received.indexOf('data: ', roleEnds)).toBe(-1);
  model.release();
  while (await readMore());
  expect(readChunks(received).at(-1)?.choices[0]?.finish_reason).toBe('stop');
});

it('a stream has no comment while text flows', async () => {
  const { post } = await start({ keepAlive: 2000 });
  expect(await (await post(ask('one two three', { stream: true }))).text()).not.toContain(': ping');
});

it.each([
  ['overloaded', 429],
  ['context_length_exceeded', 400],
  ['bad_request', 400],
  ['unsupported', 400],
  ['model_not_found', 404],
  ['bad_checkpoint', 500],
  ['network', 502],
  ['no_adapter', 503],
  ['device_lost', 503],
  ['out_of_memory', 503],
  ['timed_out', 503],
  ['preempted', 503],
  ['disk_full', 507],
])('an error %s before acceptance has status %d, streaming or not', async (code, status) => {
  // Errors found by the server and by the engine look the same to a client.
  const said = code === 'bad_request' ? 'invalid_value' : code;
  const { post } = await start();
  for (const stream of [false, true]) {
    const response = await post(ask(`refuse ${code}`, { stream }));
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code: said, message: `refused with ${code}` } });
    if (status === 429 || ['device_lost', 'timed_out', 'preempted'].includes(code)) {
      expect(response.headers.get('retry-after')).toBe('1');
      expect(response.headers.get('retry-after-ms')).toBe('1000');
    }
  }
});

it('a stream has a later error as an event, then the end', async () => {
  const { post } = await start();
  const response = await post(ask('fail out_of_memory', { stream: true }));
  expect(response.status).toBe(200);
  const chunks = readChunks(await response.text());
  expect(chunks.map(({ choices }) => choices?.[0]?.delta.content)).toEqual([
    '',
    'fail',
    undefined,
    undefined,
  ]);
  expect(chunks.at(-2)?.choices[0]).toMatchObject({ delta: {}, finish_reason: 'abort' });
  expect(chunks.at(-1)).toEqual({
    error: {
      message: 'failed with out_of_memory',
      type: 'server_error',
      param: null,
      code: 'out_of_memory',
    },
  });
});

it.each([false, true])('the text of an unforeseen error is in the log only (stream: %s)', async (stream) => {
  const { post, lines } = await start();
  const response = await post(ask('crash now', { stream }));
  expect(response.status).toBe(stream ? 200 : 500);
  const text = await response.text();
  expect(text).toContain('"code":"internal"');
  expect(text).not.toContain('secret detail');
  expect(lines.some((line) => line.startsWith('error') && line.includes('secret detail'))).toBe(true);
});

it('the text of an internal error is in the log only, whatever it carries', async () => {
  const { post, lines } = await start();
  const response = await post(ask('refuse internal'));
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({
    error: {
      message: 'the server failed on this request; its log says why',
      type: 'server_error',
      param: null,
      code: 'internal',
    },
  });
  expect(lines.some((line) => line.startsWith('error') && line.includes('refused with internal'))).toBe(true);
});

it.each([true, false])('the engine request ends when the client leaves (stream: %s)', async (stream) => {
  const { post, model, lines, server } = await start();
  const abort = new AbortController();
  const answer = post(ask('hang here', { stream }), { signal: abort.signal }).then((response) =>
    response.text(),
  );
  await eventually(() => model.running === 1, 'the request runs');
  abort.abort();
  await expect(answer).rejects.toThrow();
  await eventually(() => model.running === 0, 'the request ends');
  expect(server.running()).toBe(0);
  await eventually(() => lines.some((line) => line.includes('client left')), 'the log says so');
});

it('the server loses no request over 200 streams that are left', async () => {
  const { post, model, server } = await start();
  const leave = async (round: number) => {
    const abort = new AbortController();
    const response = await post(
      ask(round % 2 ? 'hang here' : 'wait 10000', { stream: true, n: 1 + (round % 3) }),
      {
        signal: abort.signal,
      },
    );
    await response.body?.getReader().read();
    abort.abort();
  };
  for (let round = 0; round < 200; round += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, at) => leave(round + at)));
  }
  expect(model.requests).toHaveLength(200);
  await eventually(() => model.running === 0, 'every request ends');
  expect(server.running()).toBe(0);
});

/** Sends a request over a bare socket and reads nothing until told to. */
async function sendWithoutReading({ url }: Harness, body: object) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  const json = JSON.stringify(body);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`,
  );
  return socket;
}

it('a slow reader does not delay the engine, and gets what it missed merged', async () => {
  const harness = await start();
  const words = 30_000;
  const socket = await sendWithoutReading(
    harness,
    ask(`flood ${words}`, { stream: true, max_tokens: words }),
  );
  await eventually(() => harness.model.running === 1, 'the request runs');
  const deadline = Date.now() + 8000;
  while (harness.model.running > 0 && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 10));
  expect(harness.model.running).toBe(0);

  let received = '';
  for await (const bytes of socket) received += String(bytes);
  const contents = [...received.matchAll(/"content":"(x*)"/g)].map(([, text]) => text?.length ?? 0);
  expect(contents.reduce((sum, length) => sum + length, 0)).toBe(words * 1000);
  expect(contents.length).toBeLessThan(words / 2);
  expect(received).toContain('[DONE]');
});

it('the log has what ended a stream whose status was good', async () => {
  const { post, lines } = await start();
  await (await post(ask('fail device_lost', { stream: true }))).text();
  await expect.poll(() => lines.some((line) => line.includes(' 200 device_lost · '))).toBe(true);
  expect(lines.some((line) => line.startsWith('debug') && line.endsWith('failed with device_lost'))).toBe(
    true,
  );
});
