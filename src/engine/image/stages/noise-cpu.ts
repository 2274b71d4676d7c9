// torch's random streams in software, so that a seed gives diffusers' noise on any GPU: the numbers that torch.randn returns in f32 with
// torch.Generator(device) after manual_seed(seed). `seed` is a whole number of at least 0. Here torch.randn on the CPU: MT19937, and Box–Muller over blocks of 16 numbers. On processors with AVX2 or AVX-512 torch
// computes the blocks with Cephes' f32 polynomials, most multiplications fused with the following additions. noise-cephes.ts does
// the same, so that the numbers equal torch's bit for bit. Without AVX2 torch calls the C library, whose results differ in the last
// digits.

import { logarithm, sineCosine } from './noise-cephes.ts';

/** Standard normal numbers; each call goes on where the last one ended. */
export interface NoiseStream {
  /** Numbers in the order of torch's tensor (batch, channel, row, column). */
  normals(count: number): Float32Array;
}

const round = Math.fround;
const TWO_PI = round(2 * Math.PI);
const BLOCK = 16;

/** torch uses the low 32 bits of `seed`. */
export function cpuNoise(seed: number): NoiseStream {
  const word = mersenneTwister(seed % 2 ** 32);
  /** The sine of a pair whose cosine was the last number of a short call. The next short call begins with it. */
  let spare: number | null = null;

  const uniform = (): number => (word() & 0xffffff) * 2 ** -24;
  const uniformDouble = (): number => {
    const high = word() & 0x1fffff;
    return (high * 2 ** 32 + word()) * 2 ** -53;
  };
  const single = (): number => {
    if (spare !== null) {
      const value = spare;
      spare = null;
      return value;
    }
    const angle = 2 * Math.PI * uniformDouble();
    const radius = Math.sqrt(-2 * Math.log1p(-uniformDouble()));
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };

  return {
    normals(count) {
      const values = new Float32Array(count);
      if (count < BLOCK) return values.map(single);
      for (let i = 0; i < count; i += 1) values[i] = uniform();
      for (let i = 0; i + BLOCK <= count; i += BLOCK) boxMuller(values.subarray(i, i + BLOCK));
      if (count % BLOCK === 0) return values;
      // The last 16 numbers are drawn again and overwrite a part of the last whole block.
      const tail = values.subarray(count - BLOCK);
      for (let i = 0; i < BLOCK; i += 1) tail[i] = uniform();
      boxMuller(tail);
      return values;
    },
  };
}

/** Uniforms to normals in place: the first eight are radii, the last eight angles; cosines come first. */
function boxMuller(block: Float32Array): void {
  for (let i = 0; i < BLOCK / 2; i += 1) {
    const radius = round(Math.sqrt(-2 * logarithm(1 - (block[i] ?? 0))));
    const { sine, cosine } = sineCosine(round(TWO_PI * (block[i + 8] ?? 0)));
    block[i] = radius * cosine;
    block[i + 8] = radius * sine;
  }
}

const SIZE = 624;
const AHEAD = 397;

/** 32-bit words of MT19937 (Matsumoto and Nishimura, 1998). */
export function mersenneTwister(seed: number): () => number {
  const state = new Uint32Array(SIZE);
  state[0] = seed;
  for (let i = 1; i < SIZE; i += 1) {
    const last = state[i - 1] ?? 0;
    state[i] = Math.imul(1812433253, last ^ (last >>> 30)) + i;
  }
  let next = SIZE;
  return () => {
    if (next === SIZE) {
      twist(state);
      next = 0;
    }
    let word = state[next] ?? 0;
    next += 1;
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c5680;
    word ^= (word << 15) & 0xefc60000;
    return (word ^ (word >>> 18)) >>> 0;
  };
}

function twist(state: Uint32Array): void {
  const at = (i: number): number => state[i % SIZE] ?? 0;
  for (let i = 0; i < SIZE; i += 1) {
    const mixed = (at(i) & 0x80000000) | (at(i + 1) & 0x7fffffff);
    state[i] = at(i + AHEAD) ^ (mixed >>> 1) ^ ((mixed & 1) * 0x9908b0df);
  }
}
