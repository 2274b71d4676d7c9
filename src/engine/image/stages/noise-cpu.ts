// torch's random streams in software, so that a seed gives diffusers' noise on any GPU: the numbers that torch.randn returns in f32 with
// torch.Generator(device) after manual_seed(seed). `seed` is a whole number of at least 0. Here torch.randn on the CPU: MT19937, and Box–Muller
// over blocks of 16 numbers. On processors with AVX2 or AVX-512 torch computes the blocks with Cephes' f32 polynomials, most multiplications
// fused with the following additions. The functions below do the same, so that the numbers equal torch's bit for bit. Without AVX2 torch calls
// the C library, whose results differ in the last digits.

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

// Logarithm, sine and cosine in f32 by the polynomials of the Cephes library (S. Moshier), each step rounded as in torch's vector
// code: `fused` rounds once, plain operations round after each.

/**
 * a · b + c of f32 in one rounding. The product is exact in f64; if the sum is rounded there to the middle of two f32, the part that was
 * lost decides between them.
 */
export function fused(a: number, b: number, c: number): number {
  const product = a * b;
  const sum = product + c;
  const nearest = round(sum);
  const mirrored = sum + (sum - nearest);
  if (mirrored === nearest || round(mirrored) !== mirrored) return nearest;
  const rest = sum - product;
  const lost = product - (sum - rest) + (c - rest);
  return round(lost === 0 ? sum : sum + Math.sign(lost) * Math.abs(sum) * Number.EPSILON);
}

const LOG = [
  7.0376836292e-2, -1.151461031e-1, 1.167699874e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
  2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
].map(round);
const SINE = [-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1].map(round);
const COSINE = [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2].map(round);
const SQRT_HALF = round(Math.SQRT1_2);
/** ln 2 in two parts, the first of few bits. */
const [LN2_HIGH, LN2_LOW] = [0.693359375, round(-2.1219444e-4)];
const FOUR_OVER_PI = round(4 / Math.PI);
/** π / 4 in three parts, the first two of few bits. */
const QUARTER_PI = [0.78515625, 2.4187564849853516e-4, round(3.774894977445941e-8)];

function polynomial(coefficients: readonly number[], x: number): number {
  return coefficients.reduce((sum, coefficient) => fused(sum, x, coefficient));
}

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** The logarithm of an f32 in (0, 1]. */
function logarithm(u: number): number {
  float[0] = u;
  const word = bits[0] ?? 0;
  let exponent = (word >>> 23) - 126;
  bits[0] = (word & 0x007fffff) | 0x3f000000; // the mantissa, in [½, 1)
  const mantissa = float[0];
  let x = round(mantissa - 1);
  if (mantissa < SQRT_HALF) {
    exponent -= 1;
    x = round(x + mantissa);
  }
  const square = round(x * x);
  const cubed = round(polynomial(LOG, x) * x);
  let y = fused(cubed, square, round(exponent * LN2_LOW));
  y = round(y - square / 2);
  return fused(exponent, LN2_HIGH, round(x + y));
}

/** Sine and cosine of an f32 angle in [0, 2π]. */
function sineCosine(angle: number): { sine: number; cosine: number } {
  const eighths = Math.trunc(round(angle * FOUR_OVER_PI));
  const even = eighths + (eighths % 2);
  const x = QUARTER_PI.reduce((rest, part) => fused(-even, part, rest), angle);
  const square = round(x * x);
  const c = round(fused(round(polynomial(COSINE, square) * square), square, -square / 2) + 1);
  const s = fused(round(polynomial(SINE, square) * square), x, x);
  switch ((even / 2) % 4) {
    case 0:
      return { sine: s, cosine: c };
    case 1:
      return { sine: c, cosine: -s };
    case 2:
      return { sine: -s, cosine: -c };
    default:
      return { sine: -c, cosine: s };
  }
}
