// Reads the operands of one replay that lie in files, ahead of the dispatches that bind them: the device computes meanwhile, and a
// replay waits for the file only where reading takes longer than computing.

import type { Device } from './device.ts';
import type { Copy } from './streams.ts';

/** Bytes that are read at a time, and the number of such reads under way. */
const PIECE_BYTES = 8 * 2 ** 20;
const AHEAD = 4;
/** Parts of the bytes under way to the device after each of which its progress is asked for. */
const MARKS = 8;

/** Some bytes of a region, on their way to its slot. */
interface Piece {
  copy: Copy;
  at: number;
  length: number;
}

/** Bytes of host memory that reading takes: those being read, and those that the device has not copied yet. */
export function stagingBytes(groups: readonly (readonly Copy[])[], most: number): number {
  const sizes = groups.map((copies) => copies.reduce((sum, { from }) => sum + from.size, 0));
  if (sizes.length === 0) return 0;
  const largest = Math.max(...groups.flat().map(({ from }) => from.size));
  const reading = AHEAD * Math.min(PIECE_BYTES, largest);
  return reading + Math.max(Math.min(Math.max(...sizes), most - reading), Math.min(PIECE_BYTES, largest));
}

export class StoredReads {
  readonly #device: Device;
  readonly #pieces: readonly Piece[];
  /** Bytes on their way to the device at one time. */
  readonly #most: number;
  /** Memory for pieces, and their bytes. */
  readonly #pool: Uint8Array<ArrayBuffer>[];
  readonly #length: number;
  /** Reads that were begun and not taken, in order. */
  readonly #reading: Promise<Uint8Array<ArrayBuffer>>[] = [];
  #begun = 0;
  #taken = 0;
  /** Bytes that the device has not copied, oldest first, and those of them that nothing waits for yet. */
  readonly #marks: { bytes: number; done: Promise<unknown> }[] = [];
  #unmarked = 0;

  /**
   * `groups`: the regions in files that a replay copies, in order. `staging`: see stagingBytes. `pool`: memory that earlier replays of
   * the tape have left.
   */
  constructor(
    device: Device,
    groups: readonly (readonly Copy[])[],
    { staging, pool }: { staging: number; pool: Uint8Array<ArrayBuffer>[] },
  ) {
    this.#device = device;
    this.#pieces = groups.flat().flatMap(piecesOf);
    this.#pool = pool;
    this.#length = this.#pieces.reduce((most, piece) => Math.max(most, piece.length), 0);
    this.#most = staging - AHEAD * this.#length;
    this.#begin();
  }

  /** Number of pieces that a region is read in. */
  static count({ from }: Copy): number {
    return Math.ceil(from.size / PIECE_BYTES);
  }

  /** Waits for the next piece and writes it to its slot, after what was submitted before. Throws what reading throws. */
  async write(): Promise<void> {
    const { copy, at, length } = this.#pieces[this.#taken++]!;
    const bytes = await this.#reading.shift()!;
    await this.#room(length);
    const { arena, gpu } = this.#device;
    gpu.queue.writeBuffer(arena.buffer(copy.slot), at, bytes, 0, length);
    this.#unmarked += length;
    this.#pool.push(bytes);
    this.#begin();
  }

  #begin(): void {
    while (this.#reading.length < AHEAD && this.#begun < this.#pieces.length) {
      const { copy, at, length } = this.#pieces[this.#begun++]!;
      const { buffer, offset } = copy.from;
      const bytes = this.#pool.pop() ?? new Uint8Array(this.#length);
      const read = this.#device.host.stored(buffer).readInto(offset + at, bytes.subarray(0, length));
      const done = read.then(() => bytes);
      done.catch(() => {}); // thrown where the piece is taken
      this.#reading.push(done);
    }
  }

  /** Waits until the device has room for further bytes. Dawn keeps a copy of written bytes until the queue has consumed them. */
  async #room(bytes: number): Promise<void> {
    if (this.#unmarked * MARKS >= this.#most) this.#mark();
    const pending = (): number => this.#marks.reduce((sum, mark) => sum + mark.bytes, this.#unmarked);
    while (pending() > 0 && pending() + bytes > this.#most) {
      if (this.#marks.length === 0) this.#mark();
      await this.#marks.shift()!.done;
    }
  }

  #mark(): void {
    const done = this.#device.gpu.queue.onSubmittedWorkDone().catch(() => {}); // a lost device is reported at the end
    this.#marks.push({ bytes: this.#unmarked, done });
    this.#unmarked = 0;
  }
}

function piecesOf(copy: Copy): Piece[] {
  return Array.from({ length: StoredReads.count(copy) }, (_, i) => {
    const at = i * PIECE_BYTES;
    return { copy, at, length: Math.min(PIECE_BYTES, copy.from.size - at) };
  });
}
