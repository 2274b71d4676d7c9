// The cumulative distribution function of the standard normal distribution, and its inverse.

/** Standard deviations above the mean below which `share` of the distribution lies. */
export function normalQuantile(share: number): number {
  let x = 0;
  for (let i = 0; i < 60; i++) x -= (normalCdf(x) - share) / density(x);
  return x;
}

/** The share of the distribution below `x` standard deviations above the mean. */
export function normalCdf(x: number): number {
  return 0.5 + density(x) * areaSeries(x);
}

function density(x: number): number {
  return Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
}

/** The area between 0 and x, in units of the density at x: x + x³ / 3 + x⁵ / (3 · 5) + … */
function areaSeries(x: number): number {
  let term = x;
  let sum = x;
  for (let k = 3; Math.abs(term) > 1e-17 * Math.abs(sum); k += 2) {
    term *= (x * x) / k;
    sum += term;
  }
  return sum;
}
