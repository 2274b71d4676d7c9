// Logarithm, sine and cosine in f32 by the polynomials of the Cephes library (S. Moshier). Each step is rounded as in the vector
// code of torch's CPU generator: `fused` rounds once, plain operations round after each.

const round = Math.fround;

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
export function logarithm(u: number): number {
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
export function sineCosine(angle: number): { sine: number; cosine: number } {
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
