// torch.randn on CUDA in f32: Philox 4x32-10 and curand's Box–Muller. Words and uniform numbers equal the GPU's bit for bit. The
// GPU reads its sine from a hardware table (error about 1e-6); here it is the f64 sine, rounded.

import { fused, type NoiseStream } from './noise-cpu.ts';

const round = Math.fround;

/**
 * Launch limits of the GPU whose stream is reproduced. torch launches at most multiprocessors · ⌊threadsEach / 256⌋ blocks of 256
 * threads; in a tensor with more elements each thread computes several numbers, so that large tensors differ between GPUs.
 */
export interface LaunchLimits {
  multiprocessors: number;
  /** Resident threads per multiprocessor. */
  threadsEach: number;
}

/** Limits of an A100. Up to 221,184 elements each thread computes one number, and the stream equals that of every larger GPU. */
export const A100: LaunchLimits = { multiprocessors: 108, threadsEach: 2048 };

const BLOCK = 256;
/** Numbers of one Philox call. Each call advances torch's generator by this number, and curand's counter by one. */
const PER_CALL = 4;

export function cudaNoise(seed: number, limits: LaunchLimits = A100): NoiseStream {
  const key = [seed % 2 ** 32, Math.floor(seed / 2 ** 32)] as const;
  const words = new Uint32Array(PER_CALL);
  let counter = 0;
  return {
    normals(count) {
      const values = new Float32Array(count);
      const most = limits.multiprocessors * Math.floor(limits.threadsEach / BLOCK);
      const threads = BLOCK * Math.min(most, Math.ceil(count / BLOCK));
      const calls = Math.ceil(count / (threads * PER_CALL));
      for (let call = 0; call < calls; call += 1) {
        const base = call * threads * PER_CALL;
        for (let thread = 0; thread < threads && base + thread < count; thread += 1) {
          philox(counter + call, thread, key, words);
          for (let i = 0; i < PER_CALL; i += 1) {
            const at = base + i * threads + thread;
            if (at >= count) break;
            values[at] = normal(words, i);
          }
        }
      }
      counter += calls;
      return values;
    },
  };
}

const TO_UNIT = 2 ** -32;
const TO_ANGLE = round(TO_UNIT * 2 * Math.PI);

/** Maps a word to (0, 1], and to (0, 2π], like curand in f32. */
export const unitOf = (word: number): number => fused(round(word), TO_UNIT, TO_UNIT / 2);
export const angleOf = (word: number): number => fused(round(word), TO_ANGLE, TO_ANGLE / 2);

/** Number `i` of curand_normal4: sine, then cosine, of each pair of words. */
function normal(words: Uint32Array, i: number): number {
  const first = i & 2;
  const angle = angleOf(words[first + 1] ?? 0);
  const radius = round(Math.sqrt(-2 * round(Math.log(unitOf(words[first] ?? 0)))));
  return radius * round(i % 2 === 0 ? Math.sin(angle) : Math.cos(angle));
}

/** Philox 4x32 with ten rounds (Salmon et al., 2011) of the counter (call, 0, thread, 0): four words. */
export function philox(
  call: number,
  thread: number,
  key: readonly [number, number],
  words: Uint32Array,
): void {
  let [k0, k1] = key;
  let [c0, c1, c2, c3] = [call, 0, thread, 0];
  for (let i = 0; i < 10; i += 1) {
    const high0 = highProduct(0xd251, 0x1f53, c0);
    const high1 = highProduct(0xcd9e, 0x8d57, c2);
    const low0 = Math.imul(0xd2511f53, c0);
    const low1 = Math.imul(0xcd9e8d57, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + 0x9e3779b9) | 0;
    k1 = (k1 + 0xbb67ae85) | 0;
  }
  words[0] = c0;
  words[1] = c1;
  words[2] = c2;
  words[3] = c3;
}

/** High word of (aHigh · 2¹⁶ + aLow) · b. */
function highProduct(aHigh: number, aLow: number, b: number): number {
  const [bHigh, bLow] = [b >>> 16, b & 0xffff];
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const cross = aLow * bHigh + (middle & 0xffff);
  return (aHigh * bHigh + Math.floor(middle / 0x10000) + (cross >>> 16)) | 0;
}
