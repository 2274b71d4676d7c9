// Trained timesteps that a run visits ("timestep_spacing"), computed like in diffusers and numpy.

import type { ConfigReader } from './config.ts';

export type Spacing = 'linspace' | 'leading' | 'trailing';
const SPACINGS: readonly Spacing[] = ['linspace', 'leading', 'trailing'];

export interface SpacingConfig {
  spacing: Spacing;
  offset: number;
}

export function readSpacing(config: ConfigReader, fallback: Spacing): SpacingConfig {
  return {
    spacing: config.choice('timestep_spacing', fallback, SPACINGS),
    offset: config.number('steps_offset', 0),
  };
}

/** `count` numbers from `first` to `last`. */
export function linspace(first: number, last: number, count: number): number[] {
  if (count === 1) return [first];
  const step = (last - first) / (count - 1);
  return Array.from({ length: count }, (_, i) => (i === count - 1 ? last : first + i * step));
}

/** Rounds to the nearest whole number, and halves to the even one. */
export function roundHalfEven(x: number): number {
  const low = Math.floor(x);
  const rest = x - low;
  if (rest !== 0.5) return Math.round(x);
  return low % 2 === 0 ? low : low + 1;
}

/** Returns the timesteps, descending. `round`: linspace gives whole timesteps too. */
export function visited(
  { spacing, offset }: SpacingConfig,
  trained: number,
  steps: number,
  round: boolean,
): number[] {
  switch (spacing) {
    case 'linspace': {
      const exact = linspace(0, trained - 1, steps).toReversed();
      return round ? exact.map(roundHalfEven) : exact;
    }
    case 'leading': {
      const stride = Math.floor(trained / steps);
      return Array.from({ length: steps }, (_, i) => (steps - 1 - i) * stride + offset);
    }
    case 'trailing':
      return trailing(trained, trained, steps);
  }
}

/** Timesteps of multistep solvers: the visited points of steps + 1 without the lowest. `last`: number of timesteps that may be visited. */
export function visitedAbove(
  { spacing, offset }: SpacingConfig,
  trained: number,
  last: number,
  steps: number,
): number[] {
  switch (spacing) {
    case 'linspace':
      return linspace(0, last - 1, steps + 1)
        .toReversed()
        .slice(0, -1)
        .map(roundHalfEven);
    case 'leading': {
      const stride = Math.floor(last / (steps + 1));
      return Array.from({ length: steps }, (_, i) => (steps - i) * stride + offset);
    }
    case 'trailing':
      return trailing(trained, last, steps);
  }
}

function trailing(trained: number, last: number, steps: number): number[] {
  const stride = trained / steps;
  const count = last === trained ? steps : Math.ceil(last / stride);
  return Array.from({ length: count }, (_, i) => roundHalfEven(last - i * stride) - 1);
}
