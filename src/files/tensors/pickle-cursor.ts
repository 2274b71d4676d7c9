// The bytes of a pickle, read from front to back: the operands of its opcodes.

/** The bytes end before the pickle does: more of the file has to be read. */
export class PickleEnds extends RangeError {}

/** Bytes of the largest integer that torch writes, its magic number, have 10. */
const MOST_LONG = 64;

export class PickleCursor {
  at: number;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array, start: number) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = start;
  }

  take(length: number): Uint8Array {
    if (length > this.#bytes.length - this.at) throw new PickleEnds('the bytes end within the pickle');
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }

  unsigned(length: number): number {
    return this.take(length).reduceRight((value, byte) => value * 256 + byte, 0);
  }

  /** A signed integer, its lowest byte first. */
  long(length: number): number | bigint {
    if (length > MOST_LONG) throw new RangeError(`an integer of ${length} bytes`);
    const value = this.take(length).reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
    const signed = BigInt.asIntN(8 * length, value);
    const number = Number(signed);
    return Number.isSafeInteger(number) ? number : signed;
  }

  double(): number {
    this.take(8);
    return this.#view.getFloat64(this.at - 8, false);
  }

  text(length: number): string {
    return new TextDecoder().decode(this.take(length));
  }

  line(): string {
    const end = this.#bytes.indexOf(10, this.at);
    if (end < 0) throw new PickleEnds('the bytes end within a line');
    const text = this.text(end - this.at);
    this.at = end + 1;
    return text;
  }
}
