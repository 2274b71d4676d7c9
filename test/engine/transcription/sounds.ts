// The sounds of the goldens of transcription, which scripts/reference/whisper.py makes by the same formula.

import type { Sound } from '../../../src/files/media/decoded.ts';

const RATE = 16_000;

/** Three gliding tones, which swell at different times. */
export function goldenSound(seconds: number, seed: number): Sound {
  const samples = Float32Array.from({ length: Math.round(seconds * RATE) }, (_, i) => {
    const t = i / RATE;
    const tones = [0, 1, 2].map(
      (k) =>
        Math.sin(2 * Math.PI * (180 * (k + 1) + 37 * seed + 60 * k * t) * t) *
        (0.5 + 0.5 * Math.sin(t * (2.1 + k) + seed)),
    );
    return tones.reduce((sum, tone) => sum + tone, 0) / 6;
  });
  return { samples, rate: RATE };
}
