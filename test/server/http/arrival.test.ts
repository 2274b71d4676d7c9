import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { timeLeft } from '../../../src/server/http/arrival.ts';
import { ask, eventually, start } from '../harness.ts';

const SECOND = 1000;
/** Milliseconds: long enough for what is sent at once, on a busy machine too. */
const TIME = 200;

describe('the time of a body', () => {
  it.each([
    ['nothing came', 0, 30 * SECOND, 0],
    ['16 KiB came', 2 ** 14, 30 * SECOND, SECOND],
    ['a large body progresses', 40 * 2 ** 20, 600 * SECOND, 1990 * SECOND],
    ['single bytes trickle', 60, 60 * SECOND, -29_996.3],
  ])('%s', (_, bytes, elapsed, left) => {
    expect(timeLeft(30 * SECOND, { bytes, elapsed })).toBeCloseTo(left, 0);
  });
});

interface Client {
  socket: Socket;
  /** Everything that arrived until the server closed the connection. */
  answer: Promise<string>;
}

/** Sends the bytes, and then a single one again and again until the server closes the connection. */
function trickle(url: string, bytes: string | Buffer): Client {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const chunks: Buffer[] = [];
  const answer = new Promise<string>((resolve) => {
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', () => {});
    socket.once('close', () => resolve(Buffer.concat(chunks).toString()));
  });
  socket.write(bytes);
  const timer = setInterval(() => socket.writable && socket.write(' '), 5);
  socket.once('close', () => clearInterval(timer));
  onTestFinished(() => void socket.destroy());
  return { socket, answer };
}

const head = (path: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

const statuses = (answer: string): string[] =>
  [...answer.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status!);

describe('requests that arrive slowly', () => {
  it.each([
    ['a chat completion', '/v1/chat/completions', (message: string) => ({ error: { message } })],
    [
      'a message of Anthropic',
      '/v1/messages',
      (message: string) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
    ],
    ["a chat of Ollama's", '/api/chat', (message: string) => ({ error: message })],
  ])('the body of %s gets 408 and its connection is closed', async (_, path, envelope) => {
    const { url, model, lines } = await start({ receiveTime: TIME });
    const answer = await trickle(url, `${head(path, 10_000)}{`).answer;
    expect(statuses(answer)).toEqual(['408']);
    expect(answer).toMatch(/^connection: close\r$/im);
    const text =
      'the body arrived too slowly: it has 0.2 seconds (--receive-timeout), and one more for each 16 KiB that have come; send a smaller one, or by a faster connection';
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject(envelope(text));
    expect(model.requests).toEqual([]);
    await eventually(() => lines.some((line) => line.includes(' 408 ')), 'the log says so');
  });

  it('headers get 408 and their connection is closed', async () => {
    const { url } = await start({ receiveTime: TIME });
    const { answer } = trickle(url, 'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx: ');
    expect(statuses(await answer)).toEqual(['408']);
    expect(await answer).toContain('the headers did not arrive within 0.2 seconds (--receive-timeout)');
  });

  it('a connection without a request is closed', async () => {
    const { url } = await start({ receiveTime: TIME });
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    onTestFinished(() => void socket.destroy());
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
  });

  it.each([
    ['is too large', head('/v1/chat/completions', 80 * 2 ** 20), '413'],
    ['belongs to no route', head('/nowhere', 1000), '404'],
  ])('a body that %s is answered, and its connection is closed then', async (_, bytes, status) => {
    const { url } = await start({ receiveTime: TIME });
    expect(statuses(await trickle(url, bytes).answer)).toEqual([status]);
  });
});

it('a body is not cut while its bytes extend its time', async () => {
  const { url, model } = await start({ receiveTime: TIME });
  const json = JSON.stringify(ask('hi'));
  // A quarter of a mebibyte gives 16 seconds.
  const blanks = ' '.repeat(2 ** 18);
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  onTestFinished(() => void socket.destroy());
  socket.write(head('/v1/chat/completions', blanks.length + json.length) + blanks);
  await new Promise((resolve) => setTimeout(resolve, 2 * TIME));
  expect(model.requests).toEqual([]);
  socket.write(json);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(statuses(answer.toString())).toEqual(['200']);
  expect(model.requests).toHaveLength(1);
});

it('a request that has arrived may take any time', async () => {
  const { url } = await start({ receiveTime: TIME });
  const json = JSON.stringify(ask(`wait ${2 * TIME} then`));
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  onTestFinished(() => void socket.destroy());
  socket.write(head('/v1/chat/completions', json.length) + json);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(statuses(answer.toString())).toEqual(['200']);
});

it('requests of one connection leave no listeners on it', async () => {
  const { url } = await start();
  const { hostname, port } = new URL(url);
  const counts: number[] = [];
  const listening = new Set<Socket>();
  const onSocket = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    listening.add(socket);
    counts.push(socket.listenerCount('close'));
  };
  subscribe('http.server.response.finish', onSocket);
  onTestFinished(() => void unsubscribe('http.server.response.finish', onSocket));
  const socket = connect({ host: hostname, port: Number(port) });
  onTestFinished(() => void socket.destroy());
  for (let i = 0; i < 5; i++) {
    socket.write('GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await once(socket, 'data');
  }
  expect(listening.size).toBe(1);
  expect(new Set(counts.slice(1)).size).toBe(1);
});
