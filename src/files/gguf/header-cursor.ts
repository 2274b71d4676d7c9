// Reads the header of a GGUF file from its start, piece by piece: the first piece is small, the next ones double, so that a header costs
// a few reads and hardly more than its own bytes. A read beyond the end, or beyond what any header has, is an error that says where.

import { badCheckpoint, type EngineError } from '../error.ts';
import type { ByteSource } from '../source.ts';
import { StringPool } from './string-pool.ts';

const FIRST_PIECE = 2 ** 18;
const LARGEST_PIECE = 2 ** 22;
/** Bytes of a header; a vocabulary of 262,144 tokens with scores and merges takes about 16 MB. */
const MOST_HEADER_BYTES = 2 ** 28;
/** Bytes of one string: chat templates have up to 100 kB, a whole tokenizer.json 35 MB. */
const MOST_STRING_BYTES = 2 ** 26;

/** Error about a file that is not what its header claims. */
export function malformed(name: string, reason: string, cause?: unknown): EngineError {
  return badCheckpoint(`${name} is not a sound GGUF file: ${reason}; fetch the file again`, name, cause);
}

export class HeaderCursor {
  readonly #source: ByteSource;
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  /** Offset of #bytes in the file. */
  #start = 0;
  /** Next byte, in #bytes. */
  #at = 0;
  #piece = FIRST_PIECE;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** Offset of the next byte in the file. */
  get offset(): number {
    return this.#start + this.#at;
  }

  /** Bytes of the file behind the cursor. */
  get remaining(): number {
    return this.#source.size - this.offset;
  }

  error(reason: string, cause?: unknown): EngineError {
    return malformed(this.#source.name, `${reason} (at byte ${this.offset})`, cause);
  }

  /** Makes `count` bytes ready for the methods that take them. `what`: what they are, for the error where the file ends before. */
  async need(count: number, what: string): Promise<void> {
    const ready = this.#bytes.length - this.#at;
    if (ready >= count) return;
    if (count > this.remaining) throw this.error(`the file ends within ${what}`);
    if (this.offset + count > MOST_HEADER_BYTES)
      throw this.error(`its header is larger than ${MOST_HEADER_BYTES} bytes`);
    const length = Math.min(this.remaining - ready, Math.max(count - ready, this.#piece));
    this.#piece = Math.min(2 * this.#piece, LARGEST_PIECE);
    const bytes = new Uint8Array(ready + length);
    bytes.set(this.#bytes.subarray(this.#at));
    const next = this.offset + ready;
    await this.#source.readInto(next, bytes.subarray(ready));
    this.#start = this.offset;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
    this.#at = 0;
  }

  /** Takes `bytes` that are ready, and gives where they lie. */
  take(bytes: number): { view: DataView<ArrayBuffer>; at: number } {
    const at = this.#at;
    this.#at += bytes;
    return { view: this.#view, at };
  }

  takeU32(): number {
    const { view, at } = this.take(4);
    return view.getUint32(at, true);
  }

  /** An unsigned number of 64 bits. Above 2^53 it is rounded, which no count or size that passes a check is. */
  takeU64(): number {
    const { view, at } = this.take(8);
    return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
  }

  async u32(what: string): Promise<number> {
    await this.need(4, what);
    return this.takeU32();
  }

  async u64(what: string): Promise<number> {
    await this.need(8, what);
    return this.takeU64();
  }

  /** A string: its length in 8 bytes, then UTF-8. */
  async string(what: string): Promise<string> {
    const length = await this.#needString(what);
    const { view, at } = this.take(8 + length);
    try {
      return this.#decoder.decode(new Uint8Array(view.buffer, at + 8, length));
    } catch (cause) {
      throw this.error(`${what} is not UTF-8`, cause);
    }
  }

  /** Makes a string and its length ready, and gives the length. */
  async #needString(what: string): Promise<number> {
    await this.need(8, what);
    const length = this.takeU64();
    this.#at -= 8;
    const most = Math.min(this.remaining - 8, MOST_STRING_BYTES);
    if (length > most) throw this.error(`${what} claims ${length} bytes, and ${most} are possible`);
    await this.need(8 + length, what);
    return length;
  }

  /** Strings one after another. Their bytes are decoded all at once, which for short ones takes a fraction of the time. */
  async strings(count: number, what: string): Promise<string[]> {
    const pool = new StringPool(count);
    while (pool.count < count) {
      // One string is made ready, and those behind it that are ready too go with it.
      await this.#needString(what);
      this.#at = pool.take(this.#bytes, this.#at);
    }
    return pool.strings((nth, cause) => this.error(`string ${nth} of ${what} is not UTF-8`, cause));
  }
}
