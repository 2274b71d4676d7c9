// Tokens per second as a line over the last minutes.

import { rates, SHOWN_TIME } from './rates.ts';

const WIDTH = 300;
const HEIGHT = 80;

export function RateChart() {
  const shown = rates.value;
  const now = shown.at(-1)?.at ?? 0;
  const peak = Math.max(0, ...shown.map(({ tokensPerSecond }) => tokensPerSecond));
  // The line of a server that does nothing lies at the bottom.
  const top = Math.max(1, peak);
  const points = shown.map(({ at, tokensPerSecond }) => {
    const x = WIDTH * (1 - (now - at) / SHOWN_TIME);
    return `${x.toFixed(1)},${(HEIGHT * (1 - tokensPerSecond / top)).toFixed(1)}`;
  });
  const current = shown.at(-1)?.tokensPerSecond ?? 0;
  const text = `${inWords(current)} tokens per second, at most ${inWords(peak)} in the last ${SHOWN_TIME / 60_000} minutes`;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={text}>
        <polyline points={points.join(' ')} fill="none" vector-effect="non-scaling-stroke" />
      </svg>
      <figcaption>{text}</figcaption>
    </figure>
  );
}

const inWords = (rate: number): string => (rate < 10 ? rate.toFixed(1) : rate.toFixed(0));
