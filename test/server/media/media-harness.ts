// A server on a fake model that takes media, and a server of files for it to fetch.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { TextModelInfo, TextRequest } from '../../../src/index.ts';
import type { ServerOptions } from '../../../src/server/service/service.ts';
import { fakeInfo } from '../fake-model.ts';
import { start } from '../harness.ts';

/** The first bytes of files, which tell their kinds. */
export const IMAGE = Buffer.from('\x89PNG\r\n\x1a\n an image', 'latin1');
export const SOUND = Buffer.from('RIFF....WAVE a sound', 'latin1');
export const VIDEO = Buffer.from('....ftypisom a video', 'latin1');
export const OGG = Buffer.from('OggS a voice', 'latin1');
export const bytes = (file: Buffer) => new Uint8Array(file);
export const data = (file: Buffer): string => `data:application/x;base64,${file.toString('base64')}`;

export interface Files {
  origin: string;
  /** Paths of the requests. */
  fetched: string[];
  /** Number of replies that the client did not wait for. */
  left: number;
}

/** Serves /image, the beginnings of /page and /sound, and a 404 at /missing, and never answers elsewhere, for the tests of a file. */
export function serveFiles(): Files {
  const files: Files = { origin: '', fetched: [], left: 0 };
  let server: Server;
  beforeAll(async () => {
    server = createServer((request, reply) => {
      files.fetched.push(request.url!);
      reply.on('close', () => (files.left += reply.writableFinished ? 0 : 1));
      if (request.url === '/image') reply.end(IMAGE);
      else if (request.url === '/page') reply.write(`<!DOCTYPE html>${' '.repeat(2000)}`);
      else if (request.url === '/sound') reply.write(Buffer.concat([SOUND, Buffer.alloc(2000)]));
      else if (request.url === '/missing') reply.writeHead(404).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    files.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => void Object.assign(files, { fetched: [], left: 0 }));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return files;
}

export async function open(
  media: TextModelInfo['media'] = ['image', 'video', 'audio'],
  options: ServerOptions['media'] = { allowPrivateMedia: true },
) {
  const harness = await start({ media: options });
  Object.assign(harness.model, { info: { ...fakeInfo, media } });
  const send = async (path: string, body: object) => {
    const response = await fetch(harness.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return { ...harness, send };
}

export const contentOf = ({ prompt }: TextRequest, at = -1) =>
  (prompt as { messages: { content: unknown }[] }).messages.at(at)?.content;

export const user = (content: unknown) => ({ model: 'default', messages: [{ role: 'user', content }] });

export interface Refused {
  error: { message: string; param: string; code: string };
}
