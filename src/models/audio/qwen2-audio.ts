// Sounds in Qwen2-Audio: Whisper's encoder over what is heard of a window, means of two rows, one product.

import { badRequest } from '../../files/error.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear } from '../../kernels/matmul.ts';
import { mixRows } from '../../kernels/mix-rows.ts';
import { affine } from '../affine.ts';
import type { MediaFamily, Preparation, Sound, Tower } from '../media.ts';
import type { WeightTable } from '../weights.ts';
import { melSpectrum } from './mel-spectrum.ts';
import { readWhisper, type WhisperConfig, type WhisperSettings } from './whisper-config.ts';
import { WHISPER_EPS, whisperEncoder } from './whisper.ts';

const TOWER = 'sound';
const TOKEN = '<|AUDIO|>';
/** Rows whose mean is one row for the language model. */
const POOLED = 2;

export const QWEN2_AUDIO: MediaFamily = {
  classes: ['Qwen2AudioForConditionalGeneration'],
  read(files) {
    const settings = readWhisper(files);
    const spectrum = melSpectrum(settings.mel);
    return {
      readers: {
        audio: {
          placeholder: TOKEN,
          rate: settings.mel.rate,
          prepare: (sound) => prepare(settings, spectrum, sound),
        },
      },
      towers: { [TOWER]: (weights) => qwen2AudioTower(settings.encoder, files.hidden, weights) },
      spans: false,
    };
  },
};

function* prepare(
  { mel, frames }: WhisperSettings,
  spectrum: ReturnType<typeof melSpectrum>,
  { samples }: Sound,
): Preparation {
  const heard = Math.ceil(samples.length / mel.hop);
  const rows = Math.ceil(heard / 2);
  const tokens = Math.floor(rows / POOLED);
  checkLength(samples.length / mel.rate, (frames * mel.hop) / mel.rate, tokens);
  yield tokens;
  // The last pair's convolution sees one frame more.
  const seen = Math.min(frames, 2 * rows + 1);
  const sources = Uint32Array.from({ length: tokens * POOLED }, (_, i) => i);
  const shares = new Float32Array(tokens * POOLED).fill(1 / POOLED);
  return {
    parts: [tokens],
    token: TOKEN,
    tower: TOWER,
    inputs: {
      features: { shape: [1, seen, mel.mels], data: yield* spectrum(samples, frames, seen) },
      sources: { shape: [tokens, POOLED], data: sources },
      shares: { shape: [tokens, POOLED], data: shares },
    },
    layout: rows,
  };
}

function checkLength(seconds: number, most: number, tokens: number): void {
  const length = Number(seconds.toFixed(2));
  if (seconds > most)
    throw badRequest(
      `it lasts ${length} seconds, and this model hears at most ${most} of one sound: send it in parts`,
    );
  if (tokens === 0)
    throw badRequest(`it lasts ${length} seconds, which is too short to be heard: send a longer one`);
}

/**
 * Inputs: `features` [1, frames, mels]; `sources` u32 and `shares` f32 [tokens, 2], the rows whose mean is one row of the result. The layout
 * is the number of rows that the encoder makes of what is heard. → [tokens, out]
 */
function qwen2AudioTower(config: WhisperConfig, out: number, weights: WeightTable): Tower {
  const encode = whisperEncoder(config, weights, 'audio_tower.');
  const norm = affine(weights, 'audio_tower.layer_norm', config.hidden);
  const project = weights.matrix('multi_modal_projector.linear.weight', out, config.hidden, { bias: true });

  return ({ features, sources, shares }, rows) => {
    const pooled = mixRows(encode(features!, rows as number), sources!, shares!); // [tokens, hidden]
    return [linear(layernorm(pooled, norm, WHISPER_EPS), project)];
  };
}
