// Sounds for Voxtral Realtime: silence is put before and behind them, and a row is added to each token of the text, whose end is that of the sound.
// Source: mistral_common's audio encoder.

import type { MediaFamily, Preparation, Sound } from '../media.ts';
import type { TranscriptionForm } from '../transcription-form.ts';
import { melSpectrum } from './mel-spectrum.ts';
import { delayTokens, readVoxtralRealtime, type VoxtralRealtimeSounds } from './voxtral-realtime-config.ts';
import { SILENT, voxtralRealtimeTower } from './voxtral-realtime.ts';

const TOWER = 'sound';
const TOKEN = '[STREAMING_PAD]';
/** Tokens of a long word, for which silence follows a sound. */
const WORD = 10;

const FORM: TranscriptionForm = {
  transcribe: { known: null, unknown: { user: '', reply: '' } },
  translate: null,
  takesPrompt: false,
  marker: null,
};

export const VOXTRAL_REALTIME: MediaFamily = {
  classes: ['VoxtralRealtimeForConditionalGeneration'],
  text: (config, outer) => ({ ...config, delay_tokens: delayTokens(outer) }),
  read(files) {
    const settings = readVoxtralRealtime(files);
    const spectrum = melSpectrum(settings.mel);
    return {
      readers: {
        audio: {
          placeholder: TOKEN,
          rate: settings.mel.rate,
          transcription: FORM,
          prepare: (sound) => prepare(settings, spectrum, sound),
        },
      },
      towers: { [TOWER]: (weights) => voxtralRealtimeTower(settings.encoder, weights) },
      spans: false,
      added: true,
    };
  },
};

function* prepare(
  { encoder, mel, before, delay }: VoxtralRealtimeSounds,
  spectrum: ReturnType<typeof melSpectrum>,
  { samples }: Sound,
): Preparation {
  const ofToken = 2 * encoder.joined * mel.hop;
  // The text begins one token behind what is late.
  const rows = before + Math.ceil(samples.length / ofToken) + delay + 1 + WORD;
  yield rows;
  const heard = new Float32Array(before * ofToken + samples.length);
  heard.set(samples, before * ofToken);
  const frames = (rows * ofToken) / mel.hop;
  const features = new Float32Array((SILENT.features + frames) * mel.mels);
  features.set(yield* spectrum(heard, frames, frames), SILENT.features * mel.mels);
  return {
    parts: [before + delay],
    rows,
    token: TOKEN,
    tower: TOWER,
    inputs: { features: { shape: [1, SILENT.features + frames, mel.mels], data: features } },
    layout: null,
  };
}
