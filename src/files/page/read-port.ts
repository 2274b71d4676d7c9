// Ranges of files that the page reads itself, asked for over a message port. A port has one reader; a reader can ask the page for a further
// port, which it hands to another worker.

import { badCheckpoint, reasonOf } from '../error.ts';
import { slicedSource, type ByteSource } from '../source.ts';

/** A file that the page reads itself. */
export interface ReadableFile {
  /** Path within the model's folder, as `model.safetensors` or `unet/config.json`. */
  name: string;
  /** Bytes. */
  size: number;
  /** Returns the bytes from `offset` on, exactly `length` of them. */
  read(offset: number, length: number): Promise<Uint8Array> | Uint8Array;
}

interface ReadCall {
  id: number;
  file: number;
  offset: number;
  length: number;
}

/** A reader's message: a read, or the page's end of a further port. */
type ToPage = ReadCall | { port: MessagePort };

type ReadAnswer = { id: number } & ({ bytes: Uint8Array<ArrayBuffer> } | { problem: string });

/** Answers the reads that arrive at a port, in the page. */
export function serveReads(files: readonly (File | ReadableFile)[], port: MessagePort): void {
  port.addEventListener('message', ({ data }: MessageEvent<ToPage>) => {
    if ('port' in data) serveReads(files, data.port);
    else void answer(files, data, port);
  });
  port.start();
}

/** Opens a further port to the page that answers at `port`; to be transferred to its reader. */
export function furtherPort(port: MessagePort): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port.postMessage({ port: port1 } satisfies ToPage, [port1]);
  return port2;
}

async function answer(
  files: readonly (File | ReadableFile)[],
  { id, file, offset, length }: ReadCall,
  port: MessagePort,
): Promise<void> {
  const source = files[file]!;
  try {
    const bytes =
      source instanceof File
        ? new Uint8Array(await source.slice(offset, offset + length).arrayBuffer())
        : new Uint8Array(await source.read(offset, length)); // a copy, because it is transferred
    if (bytes.length !== length) throw new Error(`it gave ${bytes.length} bytes for ${length} at ${offset}`);
    port.postMessage({ id, bytes } satisfies ReadAnswer, [bytes.buffer]);
  } catch (error) {
    port.postMessage({ id, problem: reasonOf(error) } satisfies ReadAnswer);
  }
}

/** Sources that ask the page through a port, by name. Only one set of sources may read from a port, because answers carry its ids. */
export function readSources(
  files: readonly { name: string; size: number }[],
  port: MessagePort,
): Map<string, ByteSource> {
  const reader = new PortReader(port);
  return new Map(files.map((file, index) => [file.name, reader.source(file, index)]));
}

class PortReader {
  readonly #port: MessagePort;
  readonly #waiting = new Map<number, (answer: ReadAnswer) => void>();
  #nextId = 0;

  constructor(port: MessagePort) {
    this.#port = port;
    port.addEventListener('message', ({ data }: MessageEvent<ReadAnswer>) => {
      this.#waiting.get(data.id)?.(data);
      this.#waiting.delete(data.id);
    });
    port.start();
  }

  source(file: { name: string; size: number }, index: number): ByteSource {
    return slicedSource(file, (offset, length) => this.#read(file.name, { file: index, offset, length }));
  }

  async #read(name: string, call: Omit<ReadCall, 'id'>): Promise<Uint8Array<ArrayBuffer>> {
    const id = this.#nextId++;
    const answer = await new Promise<ReadAnswer>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#port.postMessage({ id, ...call } satisfies ToPage);
    });
    if ('bytes' in answer) return answer.bytes;
    throw badCheckpoint(`${name} could not be read by the page: ${answer.problem}`, name);
  }
}
