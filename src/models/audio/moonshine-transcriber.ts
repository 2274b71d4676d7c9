// Moonshine as the engine transcribes with it: windows of any length up to half a minute, and no tokens but those of the text.

import { MOONSHINE_CLASS } from './transcriber-names.ts';
import { MOONSHINE_RATE as rate, readMoonshine } from './moonshine-config.ts';
import { FIRST, SECOND, THIRD } from './moonshine-encoder.ts';
import { moonshineHeads, moonshinePage } from './moonshine.ts';
import type { Transcriber, TranscriberFiles } from './transcriber.ts';

/** Of a window. source: the paper on Moonshine, whose sounds are that long at most */
const SECONDS = 30;
const { taps: columns, step: hop } = FIRST;

/** Rows of a convolution that sees no more than `count` rows. */
const rowsOf = (count: number, { taps, step }: { taps: number; step: number }): number =>
  Math.max(0, Math.floor((count - taps) / step) + 1);

/** Frames that become one row. */
const LEAST = SECOND.taps + (THIRD.taps - 1) * SECOND.step;

/** Errors: bad_checkpoint, unsupported. */
export function readMoonshineTranscriber(files: TranscriberFiles): Transcriber {
  const config = readMoonshine(files);
  const { vocabulary, context, decoder, start, end } = config;
  const heads = moonshineHeads(config);
  return {
    architecture: MOONSHINE_CLASS,
    ...{ vocabulary, context, heads, layers: decoder.layers, ropes: [decoder.rope] },
    sound: {
      ...{ rate, hop, columns, least: LEAST, frames: rowsOf(SECONDS * rate, FIRST) },
      framesOf: (samples) => rowsOf(samples, FIRST),
      rowsOf: (frames) => rowsOf(rowsOf(frames, SECOND), THIRD),
      features: frameSamples,
    },
    prompt: { start, end },
    alignment: null,
    page: (weights) => ({ ...moonshinePage(config, weights), align: () => [] }),
  };
}

/** Frames between which other work may run. */
const PIECE_FRAMES = 2048;

/** The samples that each of `frames` rows of the first convolution sees, [frames, columns]; silence follows the sound. */
function* frameSamples(
  samples: Float32Array,
  frames: number,
): Generator<void, Float32Array<ArrayBuffer>, void> {
  const found = new Float32Array(frames * columns);
  for (let frame = 0; frame < frames; frame++) {
    if (frame % PIECE_FRAMES === 0) yield;
    found.set(samples.subarray(frame * hop, frame * hop + columns), frame * columns);
  }
  return found;
}
