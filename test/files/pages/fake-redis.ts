// As much of a Redis server as pages need: values with a time to live, over the RESP protocol.

import { createServer, type Server, type Socket } from 'node:net';

export interface FakeRedis {
  url: string;
  values: Map<string, Buffer>;
  /** Names of the commands that came, in lower case. */
  commands: string[];
  /** Keys of `expire` commands. */
  renewed: string[];
  /** Closes the server and all connections. */
  stop(): Promise<void>;
}

export async function startFakeRedis(): Promise<FakeRedis> {
  const values = new Map<string, Buffer>();
  const commands: string[] = [];
  const renewed: string[] = [];
  const sockets = new Set<Socket>();
  const answer = ([command, key, value]: Buffer[]): Buffer => {
    const name = String(command).toLowerCase();
    commands.push(name);
    const kept = values.get(String(key));
    switch (name) {
      case 'get':
        return kept
          ? Buffer.concat([Buffer.from(`$${kept.length}\r\n`), kept, CRLF])
          : Buffer.from('$-1\r\n');
      case 'set':
        values.set(String(key), Buffer.from(value!));
        return OK;
      case 'expire':
        renewed.push(String(key));
        return Buffer.from(`:${kept ? 1 : 0}\r\n`);
      case 'exists':
        return Buffer.from(`:${kept ? 1 : 0}\r\n`);
      case 'info':
        return Buffer.from('$9\r\nloading:0\r\n');
      default:
        return OK;
    }
  };
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    let received = Buffer.alloc(0);
    socket.on('data', (data) => {
      received = Buffer.concat([received, data]);
      for (let parsed = parse(received); parsed; parsed = parse(received)) {
        received = received.subarray(parsed.end);
        socket.write(answer(parsed.words));
      }
    });
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `redis://user:secret@127.0.0.1:${port}/0`,
    values,
    commands,
    renewed,
    async stop() {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const CRLF = Buffer.from('\r\n');
const OK = Buffer.from('+OK\r\n');

/** Parses one command, an array of bulk strings; null: it is incomplete. */
function parse(bytes: Buffer): { words: Buffer[]; end: number } | null {
  let at = 0;
  const count = (): number | null => {
    const end = bytes.indexOf(CRLF, at);
    if (end < 0) return null;
    const value = Number(bytes.toString('latin1', at + 1, end));
    at = end + 2;
    return value;
  };
  const words: Buffer[] = [];
  const total = count();
  if (total === null) return null;
  while (words.length < total) {
    const length = count();
    if (length === null || bytes.length < at + length + 2) return null;
    words.push(bytes.subarray(at, at + length));
    at += length + 2;
  }
  return { words, end: at };
}
