// Predictions from the model's output, as sums over latents and output: the clean latents and the noise in them.

import type { ConfigReader } from './config.ts';
import { combine, LATENTS, OUTPUT, type Sum } from './sum.ts';

export type Prediction = 'epsilon' | 'v_prediction' | 'sample' | 'flow_prediction';

export interface Estimates {
  clean: Sum;
  noise: Sum;
}

export function readPrediction(config: ConfigReader, choices: readonly Prediction[]): Prediction {
  return config.choice('prediction_type', choices[0] ?? 'epsilon', choices);
}

export const DIFFUSION_PREDICTIONS: readonly Prediction[] = ['epsilon', 'sample', 'v_prediction'];

/** Predictions for latents x = α·clean + σ·noise, where α² + σ² = 1, or α = 1 − σ (flow). */
export function estimates(prediction: Prediction, alpha: number, sigma: number): Estimates {
  switch (prediction) {
    case 'epsilon':
      return { clean: combine([1 / alpha, LATENTS], [-sigma / alpha, OUTPUT]), noise: OUTPUT };
    case 'sample':
      return { clean: OUTPUT, noise: combine([1 / sigma, LATENTS], [-alpha / sigma, OUTPUT]) };
    case 'v_prediction':
      return {
        clean: combine([alpha, LATENTS], [-sigma, OUTPUT]),
        noise: combine([sigma, LATENTS], [alpha, OUTPUT]),
      };
    case 'flow_prediction':
      return {
        clean: combine([1, LATENTS], [-sigma, OUTPUT]),
        noise: combine([1, LATENTS], [1 - sigma, OUTPUT]),
      };
  }
}

/** Predictions for latents x = clean + σ·noise whose model input is x / √(σ² + 1). */
export function estimatesAt(prediction: Prediction, sigma: number): Estimates {
  const length = Math.sqrt(sigma * sigma + 1);
  const clean =
    prediction === 'sample'
      ? OUTPUT
      : prediction === 'v_prediction'
        ? combine([1 / (sigma * sigma + 1), LATENTS], [-sigma / length, OUTPUT])
        : combine([1, LATENTS], [-sigma, OUTPUT]);
  return {
    clean,
    noise: prediction === 'epsilon' ? OUTPUT : combine([1 / sigma, LATENTS], [-1 / sigma, clean]),
  };
}
