// Where the server listens: an address and a port, or a Unix socket; with TLS or without.

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { lstat, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import type { H3 } from 'h3';
import { serve } from 'h3';
import { badRequest } from '../files/error.ts';
import { headerLimits } from './http/arrival.ts';
import type { ServerOptions } from './service/service.ts';

/** Milliseconds that an idle connection stays open: longer than clients and proxies keep theirs, so that the client closes it. */
const IDLE_TIME = 75_000;

export type Listener = ReturnType<typeof serve>;

type Place = Pick<ServerOptions, 'host' | 'port' | 'unixSocket' | 'tls'>;

/**
 * Listens. A socket file that a killed server left is replaced. Throws EngineError bad_request where the place is taken or cannot be had.
 */
export async function listen(app: H3, options: Place, receiveTime: number): Promise<Listener> {
  const { unixSocket } = options;
  try {
    return await listenAt(app, options, receiveTime);
  } catch (error) {
    const isTaken = codeOf(error) === 'EADDRINUSE' && unixSocket !== undefined;
    if (!isTaken || !(await isLeftOver(unixSocket))) throw listenError(error, options);
    await rm(unixSocket, { force: true });
    return listenAt(app, options, receiveTime).catch((again: unknown) => {
      throw listenError(again, options);
    });
  }
}

async function listenAt(
  app: H3,
  { host, port, unixSocket, tls }: Place,
  receiveTime: number,
): Promise<Listener> {
  const server = serve(app, {
    hostname: host,
    port,
    gracefulShutdown: false,
    silent: true,
    ...(tls && { tls: { cert: tls.cert, key: tls.key, ...(tls.password && { passphrase: tls.password }) } }),
    node: {
      keepAliveTimeout: IDLE_TIME,
      ...headerLimits(receiveTime),
      http2: false,
      ...(unixSocket !== undefined && { path: unixSocket }),
    },
  });
  await server.ready();
  return server;
}

/** The server's address, without a slash at the end; of a socket its path behind `unix:`. */
export function urlOf(server: Listener, { unixSocket }: Place): string {
  return unixSocket === undefined ? (server.url ?? '').replace(/\/$/, '') : `unix:${unixSocket}`;
}

/** Whether a path is a socket on which nobody listens. */
async function isLeftOver(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  if (!found?.isSocket()) return false;
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return false;
  } catch (error) {
    return codeOf(error) === 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

function listenError(error: unknown, { host, port, unixSocket }: Place): unknown {
  const reasons: Partial<Record<string, string>> =
    unixSocket === undefined
      ? {
          EADDRINUSE: `port ${port} on ${host} is taken; choose another with --port`,
          EACCES: `port ${port} needs rights this process does not have; choose one above 1023 with --port`,
          EADDRNOTAVAIL: `${host} is not an address of this machine; choose another with --host`,
          ENOTFOUND: `${host} is not a name this machine knows; choose another with --host`,
        }
      : {
          EADDRINUSE: `${unixSocket} is the socket of a server that runs, or another file; choose another path with --uds`,
          // For a folder that is not there, too.
          EACCES: existsSync(dirname(unixSocket))
            ? `${unixSocket} cannot be made with the rights of this process; choose another path with --uds`
            : `the folder of ${unixSocket} is not there; make it, or choose another path with --uds`,
          EINVAL: `${unixSocket} is too long for the path of a socket; choose a shorter one with --uds`,
        };
  const reason = reasons[codeOf(error)];
  return reason === undefined ? error : badRequest(reason, undefined, error);
}
