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
import { headersLate, LAST_READ_TIME, watchBody } from './http/arrival.ts';
import { RequestError, toErrorReply } from './http/errors.ts';
import type { Log } from './http/request-log.ts';
import { PING } from './http/sse.ts';

/**
 * Milliseconds between the interim replies or comments that test a connection. A client that has left answers the first with a
 * reset, which the next one discovers.
 */
const PROBE_TIME = { first: 50, last: 2000 };

const streams = new WeakSet<ServerResponse>();

/** Marks a reply as a stream into which comments may be written. */
export function takesComments(response: ServerResponse): void {
  streams.add(response);
}

/** `receiveTime`: milliseconds that the headers of a request may take, and its body beside what its bytes add. */
export function watchConnections(server: Server, log: Log, receiveTime: number): void {
  const replies = new WeakMap<Duplex, ServerResponse>();
  // Without this option Node drops a reply as soon as its client has closed its side.
  Object.assign(server, { httpAllowHalfOpen: true });
  // Before the routes, which read the body.
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    replies.set(socket, response);
    watchBody(request, response, receiveTime);
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
    socket.end(bytesOf(unreadable(error, receiveTime)));
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

/** The error of a connection that did not send HTTP, or not in time, by Node's error code. */
function unreadable({ code, message }: NodeJS.ErrnoException, receiveTime: number): RequestError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new RequestError(
        'headers_too_large',
        `the headers are larger than ${maxHeaderSize} bytes; send less in them`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return headersLate(receiveTime);
    default:
      return new RequestError(
        'invalid_http',
        `this is not an HTTP request that can be read (${message}); send one of HTTP/1.1`,
      );
  }
}

/** The bytes of a reply that ends its connection. */
function bytesOf(error: RequestError): string {
  const { status, body } = toErrorReply(error);
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
