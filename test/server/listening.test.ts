import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toTls } from '../../src/cli/serve/tls-files.ts';
import { ask, readChunks, start } from './harness.ts';

const file = (name: string): string => new URL(`tls/${name}`, import.meta.url).pathname;
const CERT = file('cert.pem');
const KEY = file('key.pem');

/** Sends a request with options that fetch() does not have. */
function send(
  send: typeof request,
  options: object,
  body?: string,
): Promise<{ status?: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = send({ ...options, method: body === undefined ? 'GET' : 'POST' }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.on('end', () => resolve({ status: response.statusCode!, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const HEADERS = { 'content-type': 'application/json' };

describe('a server with a certificate', () => {
  it('answers by HTTPS alone, streams too', async () => {
    const { url } = await start({
      tls: { cert: readFileSync(CERT, 'utf8'), key: readFileSync(KEY, 'utf8') },
    });
    expect(url).toMatch(/^https:/);
    const { hostname: host, port } = new URL(url);
    const place = { host, port, ca: readFileSync(CERT) };
    const stream = await send(
      request,
      { ...place, path: '/v1/chat/completions', headers: HEADERS },
      JSON.stringify(ask('hi', { stream: true })),
    );
    expect(readChunks(stream.text).at(-1)?.choices[0]?.finish_reason).toBe('stop');
    const info = await send(request, { ...place, path: '/server_info' });
    expect(JSON.parse(info.text)).toMatchObject({ settings: { tls: true } });
    expect(info.text).not.toContain('PRIVATE');
    await expect(send(plainRequest, { host, port, path: '/livez' })).rejects.toThrow();
  });

  it('is refused without the other file, or with a key of another certificate', () => {
    expect(toTls({}, {})).toEqual({});
    expect(toTls({ 'ssl-certfile': CERT, 'ssl-keyfile': KEY }, {}).tls?.cert).toContain('CERTIFICATE');
    expect(() => toTls({ 'ssl-certfile': CERT }, {})).toThrow('give --ssl-keyfile, too');
    expect(() => toTls({ 'ssl-certfile': CERT, 'ssl-keyfile': CERT }, {})).toThrow('cannot be used together');
    expect(() => toTls({ 'ssl-certfile': 'absent.pem', 'ssl-keyfile': KEY }, {})).toThrow(
      '--ssl-certfile absent.pem cannot be read',
    );
  });
});

describe.skipIf(process.platform === 'win32')('a server on a Unix socket', () => {
  const socketPath = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-uds-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    return join(folder, 'svc.sock');
  };

  it('answers to any name there, and takes the place of a server that was killed', async () => {
    const path = socketPath();
    // A killed server leaves the file of its socket.
    const code = `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`;
    const killed = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void killed.kill('SIGKILL'));
    await once(killed.stdout, 'data');
    const taken = await start({ unixSocket: path }).catch((error: unknown) => String(error));
    expect(taken).toContain('is the socket of a server that runs');
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    expect(existsSync(path)).toBe(true);
    const { url } = await start({ unixSocket: path });
    expect(url).toBe(`unix:${path}`);
    const reply = await send(
      plainRequest,
      { socketPath: path, path: '/v1/chat/completions', headers: { ...HEADERS, host: 'example.org' } },
      JSON.stringify(ask('hi')),
    );
    expect(reply.status).toBe(200);
  });

  it('leaves a file alone that is no socket', async () => {
    const path = socketPath();
    writeFileSync(path, 'weights');
    await expect(start({ unixSocket: path })).rejects.toThrow('or another file');
    expect(readFileSync(path, 'utf8')).toBe('weights');
  });

  it('says which part of a path is wrong', async () => {
    await expect(start({ unixSocket: '/absent/folder/svc.sock' })).rejects.toThrow(
      'the folder of /absent/folder/svc.sock is not there',
    );
  });
});
