// Streams as bytes: server-sent events, which are data lines with or without an event's name, comments that keep a silent connection
// open, and the end marker; or lines of JSON.
// The stream never waits for its reader: `room()` says whether the reader keeps up, and `onRoom` that it does again.

const encoder = new TextEncoder();

/** Bytes that a slow reader may fall behind before events are merged. */
const HIGH_WATER = 64 * 1024;

interface EventStreamOptions {
  /** Milliseconds of silence after which a comment is sent. */
  keepAlive: number;
  /** Called when the reader has caught up. */
  onRoom: () => void;
  /** Called when the reader has closed the connection. */
  onCancel: () => void;
}

const UNBUFFERED = { 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' };

/** How values become text. */
export interface Framing {
  /** Media type. */
  type: string;
  headers: Record<string, string>;
  frame(value: unknown, name?: string): string;
  /** Text that ends the stream; default: none. */
  end?: string;
  /** A value of the stream, in the words of the API page. */
  help: string;
  /** Comment that keeps a silent connection open; default: none. */
  ping?: string;
}

/** A comment of server-sent events, which readers skip. */
export const PING = ': ping\n\n';

/** Server-sent events. */
export const EVENTS: Framing = {
  type: 'text/event-stream',
  headers: { 'content-type': 'text/event-stream; charset=utf-8', ...UNBUFFERED },
  frame(value, name) {
    const event = name === undefined ? '' : `event: ${name}\n`;
    return `${event}data: ${JSON.stringify(value)}\n\n`;
  },
  ping: PING,
  help: 'The data of an event.',
};

/** Server-sent events with OpenAI's mark at their end. */
export const MARKED_EVENTS: Framing = {
  ...EVENTS,
  end: 'data: [DONE]\n\n',
  help: 'The data of an event; `data: [DONE]` ends the stream.',
};

/** Framing as lines of JSON, one value per line, without comments. */
export const LINES: Framing = {
  type: 'application/x-ndjson',
  headers: { 'content-type': 'application/x-ndjson', ...UNBUFFERED },
  frame: (value) => `${JSON.stringify(value)}\n`,
  help: 'A line.',
};

export function createEventStream(
  { keepAlive, onRoom, onCancel }: EventStreamOptions,
  { frame, ping, end }: Framing = EVENTS,
) {
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let open = true;
  let sentAt = performance.now();

  const write = (bytes: Uint8Array) => {
    if (!open) return;
    controller.enqueue(bytes);
    sentAt = performance.now();
  };
  const room = () => open && (controller.desiredSize ?? 0) > 0;
  const timer = setInterval(
    () => {
      if (ping && room() && performance.now() - sentAt >= keepAlive) write(encoder.encode(ping));
    },
    Math.max(10, keepAlive / 4),
  );
  const close = () => {
    open = false;
    clearInterval(timer);
  };

  const body = new ReadableStream<Uint8Array>(
    {
      start(streamController) {
        controller = streamController;
      },
      pull() {
        onRoom();
      },
      cancel() {
        close();
        onCancel();
      },
    },
    { highWaterMark: HIGH_WATER, size: (bytes) => bytes.byteLength },
  );

  return {
    body,
    /** False while the reader is more than 64 KiB behind. */
    room,
    /** `name` is sent on an `event:` line of its own. */
    send: (value: unknown, name?: string) => write(encoder.encode(frame(value, name))),
    /** Sends a line that readers skip. */
    comment: (text: string) => write(encoder.encode(`: ${text}\n\n`)),
    /** Closes the stream; sends the end marker first if its framing has one. */
    end(): void {
      if (!open) return;
      if (end !== undefined) write(encoder.encode(end));
      close();
      controller.close();
    },
  };
}
