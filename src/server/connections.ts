// Connections below requests: bytes that are not HTTP, and clients that half-closed.
//
// A client that closes its side of a connection may have left, or may wait for the reply; only sending data shows which. So the server
// sends data without meaning, an interim reply or a comment: if the client has left, its connection is reset, which ends the request;
// otherwise the client skips the data.

import {
  type IncomingMessage,
  maxHeaderSize,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { RequestError, type RequestErrorCode, toErrorReply } from './errors.ts';
import type { Log } from './service.ts';
import { PING } from './sse.ts';

/**
 * Milliseconds between the interim replies or comments that test a connection. A client that has left answers the first with a
 * reset, which the next one discovers.
 */
const PROBE_TIME = { first: 50, last: 2000 };
/** Milliseconds that a refused client gets to read the error before its connection is closed. */
const LAST_READ_TIME = 1000;

const streams = new WeakSet<ServerResponse>();

/** Marks a reply as a stream into which comments may be written. */
export function takesComments(response: ServerResponse): void {
  streams.add(response);
}

export function watchConnections(server: Server, log: Log): void {
  const replies = new WeakMap<Duplex, ServerResponse>();
  // Without this option Node drops a reply as soon as its client has closed its side.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('request', (request, response) => {
    const { socket } = request;
    replies.set(socket, response);
    let timer: NodeJS.Timeout | undefined;
    const ask = (wait: number) => {
      probe(request, response);
      timer = setTimeout(ask, wait, Math.min(2 * wait, PROBE_TIME.last));
    };
    const onEnd = () => ask(PROBE_TIME.first);
    // Pipelined requests share a socket, and each adds a listener to it.
    socket.setMaxListeners(0);
    socket.once('end', onEnd);
    response.once('close', () => {
      socket.off('end', onEnd);
      clearTimeout(timer);
      replies.delete(socket);
    });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const begun = replies.get(socket)?.headersSent ?? false;
    if (!socket.writable || begun || error.code === 'ECONNRESET' || error.code === 'EPIPE') {
      socket.destroy();
      return;
    }
    log.debug(`a request that could not be read: ${error.message}`);
    socket.end(unreadable(error));
    setTimeout(() => socket.destroy(), LAST_READ_TIME).unref();
  });
}

function probe({ httpVersion, socket }: IncomingMessage, response: ServerResponse): void {
  if (response.writableEnded || !socket.writable) return;
  if (response.headersSent) {
    if (streams.has(response)) return void response.write(PING);
  } else if (httpVersion === '1.1') return response.writeProcessing();
  // This reply has no place for data without meaning, so the client is treated as gone.
  socket.end();
}

/** Errors by Node's error codes. */
const REFUSALS: Readonly<Record<string, [code: RequestErrorCode, text: string]>> = {
  HPE_HEADER_OVERFLOW: [
    'headers_too_large',
    `the headers are larger than ${maxHeaderSize} bytes; send less in them`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['late_request', 'the request took too long to arrive; send it again'],
};

/** The bytes of the reply to a connection that did not send HTTP. */
function unreadable({ code, message }: NodeJS.ErrnoException): string {
  const [name, text] = REFUSALS[String(code)] ?? [
    'invalid_http',
    `this is no HTTP request that can be read (${message}); send one of HTTP/1.1`,
  ];
  const { status, body } = toErrorReply(new RequestError(name, text));
  const json = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(json)}`,
    'connection: close',
    '',
    json,
  ].join('\r\n');
}
