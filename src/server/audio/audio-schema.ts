// The fields of /v1/audio/transcriptions and /v1/audio/translations.

import { z } from 'zod';
import { list } from '../body/bounded.ts';
import { type Checked } from '../body/body.ts';
import { by, type FieldTable, honoured, neutralOnly, noEffect } from '../body/fields.ts';
import { refuseField } from '../http/errors.ts';
import { upload } from '../images/image-schema.ts';

const granularity = z.enum(['segment', 'word']);
const WINDOWS = 'How a sound is divided: windows begin where the model hears pauses.';

const fields = {
  file: honoured(upload, 'WAV, MP3, FLAC, Ogg, WebM, MP4 and others, as /v1/chat/completions reads sounds.'),
  model: honoured(z.string().min(1), 'A served name, its last segment, or "default".'),
  prompt: honoured(z.string(), 'Text that could stand before: names and words as they are to be written.'),
  response_format: honoured(
    z.enum(['json', 'text', 'srt', 'verbose_json', 'vtt']),
    'Form of the reply.',
    'json',
  ),
  temperature: honoured(
    z.number().min(0).max(1),
    'The first temperature; windows whose text repeats itself or is unlikely are tried with higher ones.',
    0,
  ),
  seed: honoured(z.int().min(0), 'Determines what is drawn above temperature 0; left out, random.'),
  user: noEffect('Who asks.'),
} satisfies FieldTable;

export const TRANSLATION_FIELDS = by('server/audio/audio.ts', fields);

export const TRANSCRIPTION_FIELDS = by('server/audio/audio.ts', {
  ...fields,
  language: honoured(
    z.string().min(1),
    'Code or English name of the language that is spoken; left out, the model finds out.',
  ),
  stream: honoured(
    z.boolean(),
    'Server-sent events with the text as it is written; for json and text.',
    false,
  ),
  timestamp_granularities: honoured(
    z.union([granularity, list(granularity, 2)]),
    'Times in verbose_json: those of segments, of words, or both; with words, subtitles show one at a time.',
  ),
  chunking_strategy: noEffect(WINDOWS),
  include: neutralOnly('Log probabilities of tokens; verbose_json has their averages.'),
  known_speaker_names: neutralOnly('Who speaks.'),
  known_speaker_references: neutralOnly('Voices of those who speak.'),
} satisfies FieldTable);

export type TranscriptionBody = Checked<typeof TRANSCRIPTION_FIELDS, 'file' | 'model'>;

/** Kinds of times that a request asks for; none: segments'. */
export const granularitiesOf = ({ timestamp_granularities: given = [] }: TranscriptionBody) => [given].flat();

/** For models that write no times: language models that hear, and some that transcribe. */
export function checkUntimed(body: TranscriptionBody): void {
  const { response_format: format = 'json' } = body;
  const remedy = 'and the model writes no times';
  if (format === 'srt' || format === 'vtt')
    refuseField('response_format', `is ${format}, ${remedy}: send json`);
  if (granularitiesOf(body).length > 0)
    refuseField('timestamp_granularities', `is given, ${remedy}: leave it out`);
}

export function checkTranscription(body: TranscriptionBody): void {
  const { stream, response_format: format = 'json' } = body;
  const isText = format === 'json' || format === 'text';
  if (isText && granularitiesOf(body).includes('word'))
    refuseField('response_format', `is ${format}, and has no times of words: send verbose_json, srt or vtt`);
  if (stream && !isText)
    refuseField('response_format', `is ${format}, and a stream sends text: leave out stream, or send json`);
}
