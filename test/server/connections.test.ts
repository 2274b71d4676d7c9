import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ask, eventually, start } from './harness.ts';

interface Client {
  socket: Socket;
  /** Everything that arrived until the server closed its side. */
  answer: Promise<string>;
}

/** Connects like a client that only uses sockets. */
function open(url: string, bytes: string | Buffer): Client {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  const chunks: Buffer[] = [];
  const answer = new Promise<string>((resolve) => {
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', () => {});
    for (const last of ['end', 'close']) socket.once(last, () => resolve(Buffer.concat(chunks).toString()));
  });
  socket.write(bytes);
  return { socket, answer };
}

function chatBytes(body: object, { version = '1.1', path = '/v1/chat/completions' } = {}): string {
  const json = JSON.stringify(body);
  return `POST ${path} HTTP/${version}\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`;
}

/** Removes interim replies. */
const said = (answer: string): string => answer.replaceAll('HTTP/1.1 102 Processing\r\n\r\n', '');

it.each([false, true])('a client that has closed its side gets its answer: stream %s', async (stream) => {
  const { url, model } = await start();
  const { socket, answer } = open(url, chatBytes(ask('wait 300 then', { stream })));
  socket.end();
  expect(said(await answer)).toMatch(/^HTTP\/1\.1 200 \r\n[^]*"finish_reason":"stop"/);
  expect(model.running).toBe(0);
});

it('a client that has closed its side gets an answer that is there at once', async () => {
  const { url } = await start();
  const { socket, answer } = open(url, 'GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n');
  socket.end();
  expect(await answer).toMatch(/^HTTP\/1\.1 200 \r\n[^]*\{"status":"alive"\}$/);
});

it('many pipelined requests are answered without a warning of listeners', async () => {
  const { url } = await start();
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => void warnings.push(name);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const { socket, answer } = open(url, 'GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(20));
  socket.end();
  expect((await answer).match(/\{"status":"alive"\}/g)).toHaveLength(20);
  expect(warnings).toEqual([]);
});

it.each([false, true])('a client that has left is found, and its request ends: stream %s', async (stream) => {
  const { url, model, lines } = await start();
  const { socket } = open(url, chatBytes(ask('hang here', { stream })));
  await eventually(() => model.running === 1, 'it runs');
  socket.destroy();
  await eventually(() => model.running === 0, 'it ended');
  await eventually(() => lines.some((line) => line.includes('client left')), 'the log says so');
});

it.each([
  ['lines of JSON, once they have begun', {}, { path: '/api/chat' }],
  ['HTTP/1.0', { stream: false }, { version: '1.0' }],
])('a client that has closed its side of %s counts as gone', async (_, more, options) => {
  const { url, model } = await start();
  const { socket, answer } = open(url, chatBytes(ask('hang here', more), options));
  await eventually(() => model.running === 1, 'it runs');
  await new Promise((resolve) => setTimeout(resolve, 20));
  socket.end();
  await eventually(() => model.running === 0, 'it ended');
  await answer;
});

it.each([
  [
    'no HTTP',
    'hello there\r\n\r\n',
    '400 Bad Request',
    'invalid_http',
    /not an HTTP request that can be read/,
  ],
  [
    'too many headers',
    `GET /livez HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
    '431 Request Header Fields Too Large',
    'headers_too_large',
    /larger than 16384 bytes/,
  ],
  [
    'half a body',
    chatBytes(ask('hi')).slice(0, -5),
    '400 Bad Request',
    'invalid_http',
    /not an HTTP request that can be read/,
  ],
])('the error of %s has the form of other errors', async (_, bytes, line, code, message) => {
  const { url, model } = await start();
  const { socket, answer } = open(url, bytes);
  socket.end();
  const [head = '', body = ''] = (await answer).split('\r\n\r\n');
  expect(head.split('\r\n')).toEqual([
    `HTTP/1.1 ${line}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    'connection: close',
  ]);
  expect(JSON.parse(body)).toEqual({
    error: { message: expect.stringMatching(message), type: 'invalid_request_error', param: null, code },
  });
  expect(model.requests).toEqual([]);
});

it('a body that is too large is received to its end, and the connection lives on', async () => {
  const { url, model } = await start();
  const { socket, answer } = open(
    url,
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${80 * 2 ** 20}\r\n\r\n`,
  );
  const piece = Buffer.alloc(2 ** 20, 'x');
  // The client does not read the reply before it has sent everything.
  for (let sent = 0; sent < 80; sent += 1)
    if (!socket.write(piece)) await new Promise((resolve) => socket.once('drain', resolve));
  socket.end('GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n');
  const statuses = [...said(await answer).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  expect(statuses).toEqual(['413', '200']);
  expect(model.requests).toEqual([]);
});
