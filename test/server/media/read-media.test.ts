import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { RequestError } from '../../../src/server/http/errors.ts';
import { ByteBudget, MediaSource } from '../../../src/server/media/media-source.ts';
import type { FetchRules } from '../../../src/server/media/fetch-media.ts';
import { type MediaRules, readMedia } from '../../../src/server/media/read-media.ts';

const RULES: MediaRules = { maxMediaBytes: 100_000, mediaTimeout: 5000, allowPrivateMedia: false };
const PIXELS = Buffer.from('the bytes of an image');

let server: Server;
let port = 0;
/** Paths of the requests that have arrived. */
let asked: string[] = [];
/** Paths of the replies whose connection the client has closed before their end. */
let cut: string[] = [];

const ROUTES: Record<string, (reply: ServerResponse, request: IncomingMessage) => void> = {
  '/image': (reply) => reply.end(PIXELS),
  '/host': (reply, { headers }) => reply.end(headers.host),
  '/wrong-type': (reply) => reply.setHeader('content-type', 'text/html').end(PIXELS),
  '/missing': (reply) => reply.writeHead(404).end('no'),
  '/packed': (reply) => reply.setHeader('content-encoding', 'gzip').end('no'),
  '/states-too-much': (reply) => reply.writeHead(200, { 'content-length': 100_001 }).flushHeaders(),
  '/sends-too-much': (reply) => void sendForever(reply),
  '/silent': () => {},
  '/slow': (reply) => reply.write('a few bytes'),
  '/to-image': (reply) => reply.writeHead(302, { location: '/image' }).end(),
  '/to-private': (reply) => reply.writeHead(307, { location: `http://127.0.0.2:${port}/image` }).end(),
  '/to-metadata': (reply) => reply.writeHead(301, { location: 'http://169.254.169.254/latest/' }).end(),
  '/to-mapped': (reply) => reply.writeHead(301, { location: `http://[::ffff:10.0.0.1]/` }).end(),
  '/to-inside': (reply) => reply.writeHead(303, { location: `http://inside.test:${port}/image` }).end(),
  '/to-file': (reply) => reply.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  '/to-nowhere': (reply) => reply.writeHead(302).end(),
  '/in-circles': (reply) => reply.writeHead(302, { location: '/in-circles' }).end(),
  '/switches': ({ socket }) =>
    socket!.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n'),
  '/switches-to-nothing': ({ socket }) => socket!.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
  '/breaks-off': (reply) => {
    reply.writeHead(200, { 'content-length': 1000 }).write('a few bytes');
    setTimeout(() => reply.destroy(), 20);
  },
};

async function sendForever(reply: ServerResponse): Promise<void> {
  while (!reply.destroyed) {
    reply.write(Buffer.alloc(20_000));
    await pause(1);
  }
}

beforeAll(async () => {
  server = createServer((request, reply) => {
    const path = request.url ?? '';
    asked.push(path);
    reply.on('close', () => reply.writableFinished || cut.push(path));
    ROUTES[path]?.(reply, request);
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  asked = [];
  cut = [];
});

/** Takes 127.0.0.1 for a public address, and resolves names of .test. */
function fetching(names: Record<string, string[]> = {}) {
  const lookup = vi.fn<NonNullable<FetchRules['lookup']>>((host, _, callback) => {
    const addresses = (names[host] ?? []).map((address) => ({ address, family: isIP(address) }));
    const error = addresses.length === 0 ? Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }) : null;
    callback(error, addresses);
  });
  const rules: Partial<FetchRules> = { isAllowed: (address) => address === '127.0.0.1', lookup };
  return { rules, lookup };
}

const source = (url: string, at = 0) => new MediaSource('image', url, `media.${at}`);
const local = (path: string): string => `http://127.0.0.1:${port}${path}`;

const read = (
  urls: string[],
  rules: Partial<MediaRules> = {},
  how = fetching().rules,
  signal?: AbortSignal,
) => {
  const all = { ...RULES, ...rules };
  const budget = new ByteBudget(all.maxMediaBytes);
  return readMedia(urls.map(source), all, { budget, signal: signal ?? new AbortController().signal }, how);
};

async function refusal(reading: Promise<unknown>): Promise<RequestError> {
  const error = await reading.then(
    () => expect.unreachable('was read'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(RequestError);
  return error as RequestError;
}

describe('addresses of media that are read', () => {
  it('fetches over HTTP, whatever type the server states, and follows redirects', async () => {
    const [image, other, redirected] = await read(['/image', '/wrong-type', '/to-image'].map(local));
    expect(Buffer.from(image!)).toEqual(PIXELS);
    expect(Buffer.from(other!)).toEqual(PIXELS);
    expect(Buffer.from(redirected!)).toEqual(PIXELS);
  });

  it('reads data: URIs: base64, standard or URL-safe, with line breaks and without padding', async () => {
    const bytes = Buffer.from([251, 255, 191, 0, 1]);
    const text = bytes.toString('base64');
    const urls = [
      `data:image/png;base64,${text}`,
      `DATA:;charset=x;BASE64,${bytes.toString('base64url')}`,
      `data:image/png;base64,${encodeURIComponent(text)}`,
      `data:;base64,${text.slice(0, 3)}\n${text.slice(3)}`,
    ];
    for (const found of await read(urls)) expect(Buffer.from(found)).toEqual(bytes);
  });

  it('fetches equal addresses of a request once', async () => {
    const [first, second, third] = await read([local('/image'), local('/host'), local('/image')]);
    expect(asked.toSorted()).toEqual(['/host', '/image']);
    expect(third).toBe(first);
    expect(second).not.toBe(first);
  });

  it('connects to the address that was checked, and looks a name up once', async () => {
    const { rules, lookup } = fetching({ 'public.test': ['127.0.0.1'] });
    const [host] = await read([`http://public.test:${port}/host`], {}, rules);
    expect(Buffer.from(host!).toString()).toBe(`public.test:${port}`);
    expect(lookup).toHaveBeenCalledTimes(1);
  });

  it('fetches from private addresses where that is allowed', async () => {
    const [found] = await read([local('/image')], { allowPrivateMedia: true }, {});
    expect(Buffer.from(found!)).toEqual(PIXELS);
  });
});

describe('refusals of media addresses', () => {
  const PRIVATE =
    'media.0 leads to this machine or a private network, from which nothing is fetched without --allow-private-media; send a public address or a data: URI';

  it.each([
    'http://127.0.0.1:1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://[::1]/',
    'http://[::ffff:7f00:1]/',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://localhost:1/',
  ])('%s without --allow-private-media', async (url) => {
    const error = await refusal(read([url], {}, {}));
    expect(error).toMatchObject({ code: 'invalid_value', param: 'media.0', message: PRIVATE });
  });

  it.each(['/to-private', '/to-metadata', '/to-mapped', '/to-inside'])('a redirect: %s', async (path) => {
    const { rules } = fetching({ 'inside.test': ['192.168.0.7'] });
    expect((await refusal(read([local(path)], {}, rules))).message).toBe(PRIVATE);
    expect(asked).toEqual([path]);
  });

  it('a name with a private address among public ones', async () => {
    const { rules } = fetching({ 'mixed.test': ['127.0.0.1', '::1'] });
    expect((await refusal(read([`http://mixed.test:${port}/image`], {}, rules))).message).toBe(PRIVATE);
    expect(asked).toEqual([]);
  });

  it.each([
    ['/switches', 'cannot be fetched: its server answered 101'],
    ['/switches-to-nothing', 'cannot be fetched'],
    ['/missing', 'cannot be fetched: its server answered 404'],
    ['/packed', 'comes with content-encoding gzip'],
    ['/to-file', 'redirects to an address that begins with file:'],
    ['/to-nowhere', 'leads to a redirect'],
    ['/in-circles', 'redirects more than 5 times'],
    ['/breaks-off', 'cannot be fetched (ECONNRESET)'],
  ])('%s', async (path, message) => {
    const error = await refusal(read([local(path)]));
    expect(error.message).toContain(`media.0 ${message}`);
    expect(error.code).toBe('invalid_value');
  });

  it('an unknown host and a closed port', async () => {
    expect((await refusal(read(['http://unknown.test/']))).message).toContain(
      'cannot be fetched (ENOTFOUND)',
    );
    expect((await refusal(read(['http://127.0.0.1:1/']))).message).toContain('(ECONNREFUSED)');
  });

  it.each(['/states-too-much', '/sends-too-much'])('%s: ends the fetch at the limit', async (path) => {
    const error = await refusal(read([local(path)]));
    expect(error.code).toBe('request_too_large');
    expect(error.message).toBe(
      'media.0 brings the media of this request above the limit of 100000 bytes together (--max-media-bytes); send smaller or fewer ones',
    );
    await vi.waitFor(() => expect(cut).toEqual([path]));
  });

  it('counts the bytes of all media together, data: URIs too', async () => {
    const data = (bytes: number) => `data:;base64,${Buffer.alloc(bytes, bytes).toString('base64')}`;
    expect(await read([data(60_000), data(40_000)])).toHaveLength(2);
    const error = await refusal(read([data(60_000), data(40_001)]));
    expect(error).toMatchObject({ code: 'request_too_large', param: 'media.1' });
  });

  it.each(['/silent', '/slow'])('a slow host: %s', async (path) => {
    const error = await refusal(read([local(path)], { mediaTimeout: 100 }));
    expect(error.message).toBe(
      'media.0 did not arrive within 0.1 seconds (--media-timeout); send a data: URI',
    );
    await vi.waitFor(() => expect(cut).toEqual([path]));
  });

  it('a cancelled request cancels its fetches', async () => {
    const client = new AbortController();
    const reading = read([local('/slow'), local('/silent')], {}, undefined, client.signal);
    await vi.waitFor(() => expect(asked).toHaveLength(2));
    const reason = new Error('the client left');
    client.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await vi.waitFor(() => expect(cut.toSorted()).toEqual(['/silent', '/slow']));
  });

  it('one refusal ends the other fetches', async () => {
    const error = await refusal(read([local('/silent'), local('/missing')]));
    expect(error.param).toBe('media.1');
    await vi.waitFor(() => expect(cut).toEqual(['/silent']));
  });

  it.each([
    ['not a URL', 'is not a URL'],
    ['ftp://example.org/a', 'begins with ftp:, which is not fetched'],
    ['data:image/png,abc', 'is a data: URI without base64'],
    ['data:image/png;base64', 'is a data: URI without a comma'],
    ['data:;base64,a*b=', 'is not base64'],
    ['data:;base64,abcde', 'is base64 that is cut off'],
    ['data:;base64,%zz', 'has a wrong percent escape'],
    ['file:///etc/passwd', 'is a file of the server, which reads none without --allowed-media-path'],
  ])('%s', async (url, message) => {
    expect((await refusal(read([url]))).message).toContain(`media.0 ${message}`);
  });

  it('more media of a kind than a request may have', async () => {
    const urls = Array.from({ length: 3 }, () => local('/image'));
    const error = await refusal(read(urls, { limitMmDataPerRequest: { video: 0, image: 2 } }));
    expect(error).toMatchObject({
      param: 'media.2',
      message:
        'media.2 is one of 3 images, above the limit of 2 in one request (--limit-mm-data-per-request); send fewer',
    });
    expect(asked).toEqual([]);
    expect(await read(urls, { limitMmDataPerRequest: { video: 0, image: 3 } })).toHaveLength(3);
  });
});
