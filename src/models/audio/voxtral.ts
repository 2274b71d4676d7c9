// Sounds in Voxtral: windows of 30 seconds, filled with silence, pass Whisper's encoder; neighbouring rows together pass a projector.

import { joinRows } from '../../kernels/copy-rows.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear } from '../../kernels/matmul.ts';
import { reshape } from '../../kernels/reshape.ts';
import { affine } from '../affine.ts';
import { readConfig } from '../config-values.ts';
import type { MediaFamily, MediaFiles, Preparation, Sound, Tower } from '../media.ts';
import { inTurns, tilesAtOnce } from '../tile-turns.ts';
import { TRANSLATED, type TranscriptionForm } from '../transcription-form.ts';
import type { WeightTable } from '../weights.ts';
import { melSpectrum } from './mel-spectrum.ts';
import { readWhisper, type WhisperConfig, type WhisperSettings } from './whisper-config.ts';
import { WHISPER_EPS, whisperEncoder } from './whisper.ts';

const TOWER = 'sound';
const [BEGIN, TOKEN] = ['[BEGIN_AUDIO]', '[AUDIO]'];

/** source: mistral_common's transcription requests */
export const VOXTRAL_FORM: TranscriptionForm = {
  transcribe: {
    known: { user: '', reply: 'lang:{code}[TRANSCRIBE]' },
    unknown: { user: '', reply: '[TRANSCRIBE]' },
  },
  translate: TRANSLATED,
  takesPrompt: false,
  marker: null,
};

export const VOXTRAL: MediaFamily = {
  classes: ['VoxtralForConditionalGeneration'],
  read(files) {
    const settings = readWhisper(files);
    const joined = readJoined(files, settings.encoder);
    const spectrum = melSpectrum(settings.mel);
    return {
      readers: {
        audio: {
          placeholder: `${BEGIN}${TOKEN}`,
          rate: settings.mel.rate,
          transcription: VOXTRAL_FORM,
          prepare: (sound) => prepare(settings, joined, spectrum, sound),
        },
      },
      towers: { [TOWER]: (weights) => voxtralTower(settings.encoder, joined, files.hidden, weights) },
      spans: false,
    };
  },
};

/** Rows of the encoder that make one row together: as many as the projector's inputs, which are as wide as the layers' inner states. */
function readJoined({ config: json }: MediaFiles, { hidden, ffn, positions }: WhisperConfig): number {
  const config = readConfig('config.json', json);
  config.only({ projector_hidden_act: ['gelu'] });
  const joined = ffn / hidden;
  if (!Number.isInteger(joined) || positions % joined !== 0)
    throw config.error(
      'bad_checkpoint',
      'audio_config',
      `has an intermediate_size of ${ffn}, which does not divide ${positions} rows of ${hidden}`,
    );
  return joined;
}

function* prepare(
  { encoder, mel, frames }: WhisperSettings,
  joined: number,
  spectrum: ReturnType<typeof melSpectrum>,
  { samples }: Sound,
): Preparation {
  const windows = Math.ceil(samples.length / (frames * mel.hop));
  yield (windows * encoder.positions) / joined;
  const all = windows * frames;
  return {
    parts: [BEGIN, (windows * encoder.positions) / joined],
    token: TOKEN,
    tower: TOWER,
    inputs: { features: { shape: [windows, frames, mel.mels], data: yield* spectrum(samples, all, all) } },
    layout: null,
  };
}

/** Inputs: `features` [windows, frames, mels]. → rows window by window, [1, rows, out] */
function voxtralTower(encoder: WhisperConfig, joined: number, out: number, weights: WeightTable): Tower {
  const { hidden, ffn, positions } = encoder;
  const encode = whisperEncoder(encoder, weights, 'audio_tower.');
  const norm = affine(weights, 'audio_tower.layer_norm', hidden);
  const first = weights.matrix('multi_modal_projector.linear_1.weight', out, joined * hidden);
  const second = weights.matrix('multi_modal_projector.linear_2.weight', out, out);
  const atOnce = tilesAtOnce(positions * Math.max(ffn, 6 * hidden));

  return ({ features }) => {
    const rows = inTurns(features!, atOnce, (some) => {
      const count = ((some.shape[0] as number) * positions) / joined;
      const x = layernorm(encode(some, positions), norm, WHISPER_EPS);
      return linear(linear(reshape(x, [1, count, joined * hidden]), first, { activation: 'gelu' }), second);
    });
    return [joinRows(rows, [1, ((features!.shape[0] as number) * positions) / joined])];
  };
}
