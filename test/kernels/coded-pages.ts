// Pages of codes, as shaders/lib/page-codes.wgsl lays them out: numbers that they can hold, and reading and writing them.

import { PAGE_TOKENS, type KvFormat } from '../../src/kernels/batch.ts';
import { headBytes } from '../../src/kernels/kv-format.ts';

export type CodedFormat = Exclude<KvFormat, 'f16' | 'f32'>;
export const CODED = ['fp8_e4m3', 'int8', 'int4'] as const satisfies CodedFormat[];

/** Bits of a code. */
const BITS = { fp8_e4m3: 8, int8: 8, int4: 4 };
/** Codes lie at these bytes of a word. */
const E4M3_BYTES = [1, 3, 0, 2];

export const isCodedFormat = (format: KvFormat): format is CodedFormat => format in BITS;

/** Number of a code of so many bits; codes in e4m3 are divided by 256. */
export function numberOf(format: CodedFormat, code: number): number {
  if (format === 'int8') return (code << 24) >> 24;
  if (format === 'int4') return (code << 28) >> 28;
  const [exponent, mantissa] = [(code >> 3) & 15, code & 7];
  const size = exponent === 0 ? (mantissa / 8) * 2 ** -6 : (1 + mantissa / 8) * 2 ** (exponent - 7);
  return (code & 0x80 ? -size : size) / 256;
}

/** A factor that pages can hold, of a token and head; numbers times it are at most 1. */
export function factorOf(format: CodedFormat, token: number, head: number): number {
  const size = 1 + ((5 * token + 3 * head) % 8) / 8;
  if (format === 'fp8_e4m3') return size / 4;
  return format === 'int8' ? size / 256 : ((token % 2 === 0 ? 1 : -1) * size) / 16;
}

/** Word and shift of a dimension's code within those of a token. */
function placeOf(format: CodedFormat, d: number): { word: number; shift: number } {
  if (format === 'fp8_e4m3') return { word: d >> 2, shift: 8 * E4M3_BYTES[d & 3]! };
  const perWord = 32 / BITS[format];
  return { word: Math.floor(d / perWord), shift: BITS[format] * (d % perWord) };
}

/** A head of a page: `kind` of its tokens' rows. */
export class CodedHead {
  readonly format: CodedFormat;
  readonly kind: 'keys' | 'values';
  readonly #words: Uint32Array;
  readonly #begin: number;
  readonly #rowWords: number;

  constructor(
    words: Uint32Array,
    format: CodedFormat,
    kind: 'keys' | 'values',
    { dims, head }: { dims: number; head: number },
  ) {
    this.format = format;
    this.kind = kind;
    this.#words = words;
    this.#begin = (head * headBytes(format, dims)) / 4;
    this.#rowWords = Math.ceil((dims * BITS[format]) / 32);
  }

  #wordAt(token: number, word: number): number {
    const row =
      this.kind === 'keys'
        ? word * PAGE_TOKENS + token
        : ((token >> 2) * this.#rowWords + word) * 4 + (token & 3);
    return this.#begin + row;
  }

  #factorAt(token: number): number {
    return 2 * (this.#begin + this.#rowWords * PAGE_TOKENS) + token;
  }

  code(token: number, d: number): number {
    const { word, shift } = placeOf(this.format, d);
    return (this.#words[this.#wordAt(token, word)]! >>> shift) & (2 ** BITS[this.format] - 1);
  }

  factor(token: number): number {
    const upper = new Uint16Array(this.#words.buffer)[this.#factorAt(token)]!;
    return new Float32Array(Uint32Array.of(upper << 16).buffer)[0]!;
  }

  number(token: number, d: number): number {
    return numberOf(this.format, this.code(token, d)) * this.factor(token);
  }

  /** Keeps a row whose values are numbers of codes times the factor. */
  set(token: number, row: ArrayLike<number>, factor: number): void {
    for (let d = 0; d < row.length; d++) {
      const { word, shift } = placeOf(this.format, d);
      const at = this.#wordAt(token, word);
      const mask = 2 ** BITS[this.format] - 1;
      const code = codeOf(this.format, row[d]! / factor);
      this.#words[at] = (this.#words[at]! & ~(mask << shift)) | (code << shift);
    }
    const bits = new Uint32Array(Float32Array.of(factor).buffer)[0]!;
    new Uint16Array(this.#words.buffer)[this.#factorAt(token)] = bits >>> 16;
  }
}

const E4M3_CODES = new Map(
  Array.from({ length: 256 }, (_, code) => [numberOf('fp8_e4m3', code), code] as const).toReversed(),
);

function codeOf(format: CodedFormat, value: number): number {
  const mask = 2 ** BITS[format] - 1;
  if (format !== 'fp8_e4m3') return Math.round(value) & mask;
  const found = E4M3_CODES.get(value);
  if (found === undefined) throw new Error(`no code of ${format} is ${value}`);
  return found;
}

/** Products of a vector with the matrix by which queries and keys are multiplied. */
export function turned(format: KvFormat, head: ArrayLike<number>): number[] {
  const x = Array.from(head);
  if (format !== 'int8' && format !== 'int4') return x;
  const block = x.length & -x.length;
  for (let span = 1; span < block; span *= 2) {
    for (let at = 0; at < x.length; at++) {
      if ((at & span) !== 0) continue;
      [x[at], x[at + span]] = [x[at]! + x[at + span]!, x[at]! - x[at + span]!];
    }
  }
  return x.map((value) => value / Math.sqrt(block));
}
