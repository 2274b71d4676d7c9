// Requests that are wrong below JSON: bytes that are no HTTP, bodies that lie about their length, paths, headers and methods that no client
// sends. Each exchange is written to a socket of its own, and either answered with whole replies or closed.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const JSON_HEAD = 'host: localhost\r\ncontent-type: application/json\r\n';
const CHAT = '/v1/chat/completions';
const BODY = JSON.stringify({ model: 'default', messages: [{ role: 'user', content: 'hi' }], max_tokens: 2 });
const post = (headers, body = BODY, path = CHAT) =>
  `POST ${path} HTTP/1.1\r\n${JSON_HEAD}${headers}\r\n\r\n${body}`;
const length = (body) => `content-length: ${Buffer.byteLength(body)}`;
const chunk = (text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const get = (path, headers = 'host: localhost', version = '1.1') =>
  `GET ${path} HTTP/${version}\r\n${headers}\r\n\r\n`;

/** Texts to send, in pieces where there are several. `leaves`: the client goes away without an answer. */
const EXCHANGES = [
  { send: 'NONSENSE\r\n\r\n' },
  { send: '\u0000\u0001\u0002\r\n\r\n' },
  {
    send: '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003' + '\u0000'.repeat(64),
    leaves: true,
  }, // TLS
  { send: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  { send: get('/', 'host: evil.example') },
  { send: get('/', '') },
  { send: get('/', 'host: a\r\nhost: b') },
  { send: get('/v1/models', '', '1.0') },
  { send: get('/v1/models', 'host: localhost', '0.9') },
  { send: get('http://evil.example/v1/models') },
  { send: get('*') },
  { send: 'OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n' },
  { send: 'CONNECT evil.example:443 HTTP/1.1\r\nhost: localhost\r\n\r\n' },
  { send: 'TRACE / HTTP/1.1\r\nhost: localhost\r\n\r\n' },
  { send: 'HEAD /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n', isHead: true },
  { send: get('/v1/models', 'host: localhost\r\nupgrade: websocket\r\nconnection: upgrade') },
  {
    send: get(
      '/',
      'host: localhost\r\nupgrade: h2c\r\nconnection: upgrade, http2-settings\r\nhttp2-settings: AAMAAABkAAQAAP__',
    ),
  },
  { send: get('/v1/models', `host: localhost\r\nx: ${'y'.repeat(100_000)}`) },
  { send: get('/v1/models', `host: localhost\r\n${'a: b\r\n'.repeat(3000)}c: d`) },
  { send: get(`/${'a'.repeat(100_000)}`) },
  { send: get('/v1/models', 'host: localhost\r\nbad header: x') },
  { send: get('/v1/models', 'host: localhost\r\nx-request-id: a\u0000b') },
  { send: get('/v1/models', 'host: localhost\r\nauthorization: Bearer \u00ff\u00fe') },
  { send: get('/v1/models', 'host: localhost\r\nexpect: 100-continue') },
  { send: get('/v1/models', 'host: localhost\r\nexpect: nothing') },
  { send: post(`expect: 100-continue\r\n${length(BODY)}`) },
  { send: post(`x-http-method-override: DELETE\r\n${length(BODY)}`) },
  { send: post('content-length: 1000', '{"model":'), leaves: true },
  { send: post('content-length: 99999999999', '{"model":'), leaves: true },
  { send: post('content-length: -5') },
  { send: post('content-length: 5\r\ncontent-length: 6') },
  { send: post(`content-length: 5\r\ntransfer-encoding: chunked`, `${chunk(BODY)}0\r\n\r\n`) },
  { send: post('transfer-encoding: chunked', `${chunk(BODY)}0\r\n\r\n`) },
  { send: post('transfer-encoding: chunked', `${chunk(BODY.slice(0, 9))}zz\r\n`) },
  {
    send: post('transfer-encoding: chunked', `${chunk(BODY.slice(0, 9))}ffffffffffffffff\r\n`),
    leaves: true,
  },
  { send: post('transfer-encoding: chunked', `1;${'x'.repeat(50_000)}\r\n{\r\n0\r\n\r\n`) },
  { send: post('transfer-encoding: chunked', `${chunk(BODY)}0\r\nmodel: x\r\n\r\n`) },
  { send: post('transfer-encoding: gzip') },
  { send: post(`content-encoding: gzip\r\n${length(BODY)}`) },
  { send: post('') },
  { send: `POST ${CHAT} HTTP/1.0\r\n${JSON_HEAD}${length(BODY)}\r\n\r\n${BODY}` },
  { send: `FROB ${CHAT} HTTP/1.1\r\n${JSON_HEAD}${length(BODY)}\r\n\r\n${BODY}` },
  { send: get('/livez').repeat(20), replies: 20 },
  { send: `${post(length(BODY))}${get('/livez')}`, replies: 2 },
  { send: post(length(BODY)).match(/[^]{1,40}/g), pause: 5 },
  { send: [post(length(BODY), ''), BODY.slice(0, 10)], pause: 20, leaves: true },
  { send: [get('/v1/models').slice(0, 20)], pause: 20, leaves: true },
  { send: post(`${length(BODY)}\r\nconnection: close`) },
  { send: post(length(BODY)), leaves: true },
];

/** Paths of request lines; most of them are not routes. */
const PATHS = [
  ...[
    '/%00',
    '/v1/models/%00',
    '/v1/models/%ff',
    '/v1/models/%',
    '/v1/models/%2e%2e%2f',
    '/v1/models/..%2f..%2fetc/passwd',
  ],
  ...[
    '//',
    '/./livez',
    '/../livez',
    '/v1//models',
    '/V1/MODELS',
    '/livez/',
    '/livez;x=1',
    '/livez#x',
    '/livez?',
    '/?a=b&a=c&[]=1',
  ],
  ...[
    '/model_info?model=%00',
    '/model_info?model=nobody',
    '/model_info?model=',
    '/model_info?model=a&model=b',
    '/model_info?=x&&&',
  ],
  ...[
    '/v1/responses/x',
    '/v1/responses/%F0%9F%99%82',
    '/v1/responses/x/input_items?limit=-1&order=up&after=%00',
  ],
  ...[
    '/v1/images/../content',
    '/v1/images/x/content',
    '/v1/images/%2e/content',
    '/api/blobs/sha256:x',
    '/__proto__',
    '/constructor',
  ],
  ...[
    `/v1/models/${'a'.repeat(8000)}`,
    `/?${'a=b&'.repeat(2000)}`,
    '/\u00ff',
    '/docs?<script>',
    '/openapi.json?x',
  ],
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const HEADERS = [
  '',
  'accept: text/html',
  'accept: \u00ff',
  'origin: null',
  'origin: http://localhost:1\r\naccess-control-request-headers: \u00fc',
  'content-type: application/json',
  'content-type: multipart/form-data',
  'content-type: ;;;',
  'x-request-id: <script>',
  'range: bytes=0-5',
  'cookie: a=b',
  'authorization: Basic eA==',
  'x-forwarded-for: 1.1.1.1\r\nx-forwarded-host: evil.example\r\nforwarded: for=_x',
];

/** An exchange with the server: `{ about, run(base) }`; `run` rejects if the server answers wrongly or not at all. */
export function wireExchange(random, routes) {
  if (random.chance(0.5)) {
    const exchange = random.pick(EXCHANGES);
    return {
      about: { wire: [exchange.send].flat().join('').slice(0, 400) },
      run: (base, limit) => talk(base, exchange, limit),
    };
  }
  const method = random.pick(METHODS);
  const path = random.chance(0.7) ? random.pick(PATHS) : random.pick(routes).replace(/\{\w+\}/, 'x');
  const extra = random.pick(HEADERS);
  // Another load judges what a route does with an empty body; here it must not end other requests.
  const body = method === 'POST' && random.chance(0.5) && path !== '/abort_request' ? '{}' : '';
  const head = ['host: localhost', extra, `content-length: ${body.length}`].filter(Boolean).join('\r\n');
  const send = `${method} ${path} HTTP/1.1\r\n${head}\r\n\r\n${body}`;
  const exchange = { send: Buffer.from(send, 'latin1'), isHead: method === 'HEAD' };
  return { about: { wire: send.slice(0, 400) }, run: (base, limit) => talk(base, exchange, limit) };
}

async function talk(base, { send, pause = 0, replies = 1, leaves = false, isHead = false }, limit) {
  const { port, hostname } = new URL(base);
  const socket = connect(Number(port), hostname);
  let heard = Buffer.alloc(0);
  const state = { isOver: false };
  socket.on('data', (bytes) => (heard = Buffer.concat([heard, bytes])));
  const closed = new Promise((resolve) =>
    socket.on('error', () => {}).on('close', () => resolve((state.isOver = true))),
  );
  for (const part of [send].flat()) {
    if (!state.isOver) socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part);
    if (pause > 0) await sleep(pause);
  }
  if (leaves) {
    await sleep(pause + 5);
    socket.destroy();
    return void (await closed);
  }
  const deadline = performance.now() + limit;
  while (!state.isOver && wholeReplies(heard, isHead).length < replies) {
    if (performance.now() > deadline) {
      socket.destroy();
      assert.fail(
        `no whole answer after ${limit} ms: ${JSON.stringify(heard.toString('latin1').slice(0, 300))}`,
      );
    }
    await Promise.race([sleep(5), closed]);
  }
  socket.destroy();
  for (const { status, head } of wholeReplies(heard, isHead))
    assert.ok(status < 500 || status === 503, `answered with ${head.slice(0, 300)}`);
}

/** The final replies among the bytes that a server sent, as far as they are complete. */
function wholeReplies(bytes, isHead) {
  const found = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const head = bytes.toString('latin1', at, end);
    const status = Number(
      /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? assert.fail(`no HTTP: ${head.slice(0, 300)}`),
    );
    const hasBody = status >= 200 && status !== 204 && status !== 304 && !isHead;
    const size = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    const isChunked = /^transfer-encoding: *chunked/im.test(head);
    const stop = !hasBody ? end + 4 : isChunked ? bytes.indexOf('0\r\n\r\n', end + 4) + 5 : end + 4 + size;
    if (stop > bytes.length || (hasBody && isChunked && stop < end + 4)) break;
    if (status >= 200) found.push({ status, head });
    at = stop;
  }
  return found;
}
