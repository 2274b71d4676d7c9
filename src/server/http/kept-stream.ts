// A stream of events that outlives its connection: its events are numbered and kept, for readers that come, leave and come again.

const encoder = new TextEncoder();

/** Bytes that a slow reader may fall behind before events wait for it here. */
const HIGH_WATER = 64 * 1024;

export interface KeptStreamOptions {
  /** Limit on the bytes of the events that are kept; beyond it the oldest are dropped. */
  mostBytes: number;
  /** Milliseconds without a reader after which a stream that runs is stopped. */
  abandonedTime: number;
  /** Aborts when the client that asked has left; until the stream begins this client counts as a reader. */
  client: AbortSignal;
  /** The last event has come, or the stream was stopped or released. */
  onEnd(): void;
}

interface Reader {
  /** Number of the event that it gets next. */
  next: number;
  controller: ReadableStreamDefaultController<Uint8Array>;
}

export class KeptStream {
  readonly #options: KeptStreamOptions;
  readonly #left = new AbortController();
  readonly #readers = new Set<Reader>();
  /** Events from number `#first` on, as bytes. */
  #events: Uint8Array[] = [];
  #first = 1;
  #bytes = 0;
  #hasEnded = false;
  readonly #onEnd: (() => void)[] = [];
  #source: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #abandoned: NodeJS.Timeout | undefined;
  /** Whether the client that asked waits for the stream to begin. */
  #isAwaited = true;

  constructor(options: KeptStreamOptions) {
    this.#options = options;
    options.client.addEventListener('abort', () => this.#begin(), { once: true });
    if (options.client.aborted) this.#begin();
  }

  /** Bytes of the events that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Aborts when the stream is stopped, or when nobody has read it for too long. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Calls a function at the end of the stream, at once if that has been. */
  whenEnded(call: () => void): void {
    if (this.#hasEnded) call();
    else this.#onEnd.push(call);
  }

  /** Ends the stream, since its reply is none of events, and leaves the reply to the client that asked. */
  release(): void {
    const { client } = this.#options;
    client.addEventListener('abort', () => this.#left.abort(), { once: true });
    if (client.aborted) this.#left.abort();
    this.#end();
  }

  /** Whether the events after a number are all kept. */
  has(after: number): boolean {
    return after + 1 >= this.#first;
  }

  /** Reads the events of a stream until it ends. */
  async follow(source: ReadableStream<Uint8Array>): Promise<void> {
    this.#source = source.getReader();
    this.#begin();
    if (this.#left.signal.aborted) return void this.#source.cancel();
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for (;;) {
        const { done, value } = await this.#source.read();
        if (done) break;
        const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
        rest = blocks.pop()!;
        for (const block of blocks) this.#take(block);
      }
    } finally {
      this.#end();
    }
  }

  /** Ends the stream, which did not begin, with its error. */
  fail(error: object): void {
    this.#take(`data: ${JSON.stringify(error)}`);
    this.#end();
  }

  /** Ends the stream and what makes its events. */
  stop(): void {
    this.#left.abort();
    this.#source?.cancel().catch(() => {});
    this.#end();
  }

  /** The events after a number, and those to come. `signal`: aborts when the reader has left. */
  read(after: number, signal: AbortSignal): ReadableStream<Uint8Array> {
    let reader: Reader;
    const leave = () => this.#leave(reader);
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          reader = { next: after + 1, controller };
          this.#readers.add(reader);
          this.#watchReaders();
          signal.addEventListener('abort', leave, { once: true });
          if (signal.aborted) leave();
        },
        pull: () => this.#feed(reader),
        cancel: leave,
      },
      { highWaterMark: HIGH_WATER, size: (bytes) => bytes.byteLength },
    );
  }

  /** Keeps an event; passes a comment on to the readers that have everything else. */
  #take(block: string): void {
    const next = this.#first + this.#events.length;
    if (block.startsWith(':')) {
      const comment = encoder.encode(`${block}\n\n`);
      for (const reader of this.#readers) {
        const { controller } = reader;
        if (reader.next === next && (controller.desiredSize ?? 0) > 0) controller.enqueue(comment);
      }
      return;
    }
    const event = encoder.encode(`id: ${next}\n${block}\n\n`);
    this.#events.push(event);
    this.#bytes += event.byteLength;
    while (this.#bytes > this.#options.mostBytes && this.#events.length > 1) {
      this.#bytes -= this.#events.shift()!.byteLength;
      this.#first += 1;
    }
    for (const reader of this.#readers) this.#feed(reader);
  }

  #feed(reader: Reader): void {
    if (!this.#readers.has(reader)) return;
    const { controller } = reader;
    while ((controller.desiredSize ?? 0) > 0 && reader.next < this.#first + this.#events.length) {
      if (reader.next < this.#first) {
        this.#leave(reader);
        return controller.error(new Error('the events that this reader waits for are no longer kept'));
      }
      // Before the event is given: a waiting reader asks for the next one at once.
      reader.next += 1;
      controller.enqueue(this.#events[reader.next - 1 - this.#first]!);
    }
    if (!this.#readers.has(reader) || !this.#hasEnded || reader.next < this.#first + this.#events.length)
      return;
    this.#leave(reader);
    controller.close();
  }

  #leave(reader: Reader): void {
    this.#readers.delete(reader);
    this.#watchReaders();
  }

  #begin(): void {
    this.#isAwaited = false;
    this.#watchReaders();
  }

  #watchReaders(): void {
    clearTimeout(this.#abandoned);
    if (this.#isAwaited || this.#readers.size > 0 || this.#hasEnded) return;
    this.#abandoned = setTimeout(() => this.stop(), this.#options.abandonedTime).unref();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#abandoned);
    for (const reader of this.#readers) this.#feed(reader);
    this.#options.onEnd();
    for (const call of this.#onEnd) call();
  }
}
