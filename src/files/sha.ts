// SHA-1 and SHA-256 of bytes that arrive in pieces (FIPS 180-4). A browser's crypto.subtle takes whole messages only, and weights have
// gigabytes. The rate is that of @noble/hashes 2.4.0 in one run.

const BLOCK_BYTES = 64;

/** Takes a block of the message, from `at` on, into the state. `words`: room for what the block is expanded to. */
type Compress = (state: Int32Array, words: Int32Array, bytes: Uint8Array, at: number) => void;

/** Pads the message and feeds whole blocks to `compress`. */
class BlockHash {
  readonly #compress: (bytes: Uint8Array, at: number) => void;
  readonly #state: Int32Array;
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #filled = 0;
  #length = 0;

  constructor(state: Int32Array, words: number, compress: Compress) {
    const expanded = new Int32Array(words);
    this.#state = state;
    this.#compress = (bytes, at) => compress(state, expanded, bytes, at);
  }

  update(bytes: Uint8Array): void {
    this.#length += bytes.length;
    let at = 0;
    if (this.#filled > 0) {
      at = Math.min(BLOCK_BYTES - this.#filled, bytes.length);
      this.#block.set(bytes.subarray(0, at), this.#filled);
      this.#filled += at;
      if (this.#filled < BLOCK_BYTES) return;
      this.#compress(this.#block, 0);
      this.#filled = 0;
    }
    for (; at + BLOCK_BYTES <= bytes.length; at += BLOCK_BYTES) this.#compress(bytes, at);
    this.#block.set(bytes.subarray(at));
    this.#filled = bytes.length - at;
  }

  /** The digest in hexadecimal; the hash cannot be used afterwards. */
  hex(): string {
    const tail = new Uint8Array(this.#filled < BLOCK_BYTES - 8 ? BLOCK_BYTES : 2 * BLOCK_BYTES);
    tail.set(this.#block.subarray(0, this.#filled));
    tail[this.#filled] = 0x80;
    new DataView(tail.buffer).setBigUint64(tail.length - 8, BigInt(this.#length) * 8n);
    for (let at = 0; at < tail.length; at += BLOCK_BYTES) this.#compress(tail, at);
    return [...this.#state].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
  }
}

/** The big-endian word at `at`. */
const wordAt = (bytes: Uint8Array, at: number): number =>
  (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;

export class Sha1 extends BlockHash {
  constructor() {
    super(Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0), 80, Sha1.#compress);
  }

  static #compress(this: void, h: Int32Array, w: Int32Array, bytes: Uint8Array, at: number): void {
    for (let i = 0; i < 16; i++) w[i] = wordAt(bytes, at + 4 * i);
    for (let i = 16; i < 80; i++) {
      const mixed = w[i - 3]! ^ w[i - 8]! ^ w[i - 14]! ^ w[i - 16]!;
      w[i] = (mixed << 1) | (mixed >>> 31);
    }
    let [a, b, c, d, e] = h as unknown as [number, number, number, number, number];
    for (let i = 0; i < 80; i++) {
      const part = i < 20 ? 0 : i < 40 ? 1 : i < 60 ? 2 : 3;
      const mixed = part === 0 ? (b & c) | (~b & d) : part === 2 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
      const next = (((a << 5) | (a >>> 27)) + mixed + e + SHA1_ROUNDS[part]! + w[i]!) | 0;
      e = d;
      d = c;
      c = (b << 30) | (b >>> 2);
      b = a;
      a = next;
    }
    h[0]! += a;
    h[1]! += b;
    h[2]! += c;
    h[3]! += d;
    h[4]! += e;
  }
}

const SHA1_ROUNDS = [0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6];

export class Sha256 extends BlockHash {
  constructor() {
    super(fractionsOfRoots(8, 1 / 2), 64, Sha256.#compress);
  }

  static #compress(this: void, state: Int32Array, w: Int32Array, bytes: Uint8Array, at: number): void {
    for (let i = 0; i < 16; i++) w[i] = wordAt(bytes, at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15]!;
      const y = w[i - 2]!;
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16]! + s0 + w[i - 7]! + s1) | 0;
    }
    let a = state[0]!;
    let b = state[1]!;
    let c = state[2]!;
    let d = state[3]!;
    let e = state[4]!;
    let f = state[5]!;
    let g = state[6]!;
    let h = state[7]!;
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const first = (h + s1 + ((e & f) ^ (~e & g)) + SHA256_ROUNDS[i]! + w[i]!) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    state[0]! += a;
    state[1]! += b;
    state[2]! += c;
    state[3]! += d;
    state[4]! += e;
    state[5]! += f;
    state[6]! += g;
    state[7]! += h;
  }
}

const SHA256_ROUNDS = fractionsOfRoots(64, 1 / 3);

/** The first 32 bits of the fractions of roots of the first primes, from which the standard takes its constants. */
function fractionsOfRoots(count: number, exponent: number): Int32Array {
  const words = new Int32Array(count);
  for (let found = 0, n = 2; found < count; n++) {
    let isPrime = true;
    for (let divisor = 2; divisor * divisor <= n; divisor++) if (n % divisor === 0) isPrime = false;
    if (isPrime) words[found++] = (n ** exponent % 1) * 2 ** 32;
  }
  return words;
}
