// Strings of a list, collected as bytes and decoded in one go: a call of the decoder for each of 300,000 tokens and merges would take
// longer than all the rest of opening a file.

const FIRST_BYTES = 2 ** 20;

export class StringPool {
  /** Strings so far. */
  count = 0;
  readonly #wanted: number;
  #bytes = new Uint8Array(FIRST_BYTES);
  #size = 0;
  /** UTF-16 units up to the end of each string. */
  readonly #ends: Uint32Array;
  #units = 0;
  /** The first string that begins within a character; -1: none does. */
  #broken = -1;

  constructor(count: number) {
    this.#wanted = count;
    this.#ends = new Uint32Array(count);
  }

  /** Takes the strings, each behind its length in 8 bytes, that lie in `bytes` as a whole from `at` on. Returns the end of the last. */
  take(bytes: Uint8Array, at: number): number {
    const pool = this.#withRoom(bytes.length - at);
    let { count } = this;
    let size = this.#size;
    let units = this.#units;
    for (; count < this.#wanted && at + 8 <= bytes.length; count++) {
      const long = bytes[at + 4]! | bytes[at + 5]! | bytes[at + 6]! | bytes[at + 7]!;
      const length =
        bytes[at]! + bytes[at + 1]! * 2 ** 8 + bytes[at + 2]! * 2 ** 16 + bytes[at + 3]! * 2 ** 24;
      const end = at + 8 + length;
      if (long !== 0 || end > bytes.length) break;
      at += 8;
      // A byte that continues the string before would be taken for a part of it.
      if (length > 0 && (bytes[at]! & 0xc0) === 0x80 && this.#broken < 0) this.#broken = count;
      for (; at < end; at++) {
        const byte = bytes[at]!;
        pool[size++] = byte;
        // A character of four bytes takes two units.
        if ((byte & 0xc0) !== 0x80) units += byte >= 0xf0 ? 2 : 1;
      }
      this.#ends[count] = units;
    }
    this.#size = size;
    this.#units = units;
    this.count = count;
    return at;
  }

  #withRoom(bytes: number): Uint8Array {
    if (this.#size + bytes <= this.#bytes.length) return this.#bytes;
    const larger = new Uint8Array(2 * (this.#size + bytes));
    larger.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = larger;
    return larger;
  }

  /** The strings. `notUtf8` makes the error about one that is not UTF-8. */
  strings(notUtf8: (nth: number, cause?: unknown) => Error): string[] {
    if (this.#broken >= 0) throw notUtf8(this.#broken);
    const text = this.#decode(notUtf8);
    const strings = Array<string>(this.count);
    let from = 0;
    for (let i = 0; i < this.count; i++) {
      const end = this.#ends[i]!;
      strings[i] = text.slice(from, end);
      from = end;
    }
    return strings;
  }

  #decode(notUtf8: (nth: number, cause?: unknown) => Error): string {
    const bytes = this.#bytes.subarray(0, this.#size);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (cause) {
      // Up to the first damage every character is decoded as what it is, one unit for one.
      const damaged = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes).indexOf('\ufffd');
      throw notUtf8(
        this.#ends.findIndex((end) => end > damaged),
        cause,
      );
    }
  }
}
