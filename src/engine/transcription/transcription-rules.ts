// Validation rules for the options of a transcription model and the fields of a request, under the library's names.

import { badRequest } from '../../files/error.ts';
import { MODEL_SETTINGS } from '../../options/model.ts';
import { forModels } from '../../options/setting.ts';
import { checkGiven } from '../../files/media/given.ts';
import type { MediaBounds } from '../../files/media/media.ts';
import {
  anything,
  checkOptions,
  filledText,
  flag,
  listOf,
  oneOf,
  real,
  rulesOf,
  text,
  whole,
  type Rule,
} from '../input/rules.ts';
import type {
  TranscriptionModelInfo,
  TranscriptionModelOptions,
  TranscriptionRequest,
} from './transcription-model.ts';

const MODEL_OPTIONS: Record<keyof Required<TranscriptionModelOptions>, Rule> = {
  model: filledText,
  ...rulesOf(forModels(MODEL_SETTINGS, 'transcription')),
};

/** Throws bad_request for the first option that is unknown or out of bounds. */
export function checkTranscriptionModelOptions(options: TranscriptionModelOptions): void {
  checkOptions(options, MODEL_OPTIONS, 'openTranscriptionModel', ['model']);
}

const temperature = real(0, 2);
/** Most temperatures that a window is tried with. */
const MOST_TEMPERATURES = 16;

const orNull =
  (rule: Rule): Rule =>
  (value, name) => {
    if (value !== null) rule(value, name);
  };

const REQUEST: Record<keyof Required<TranscriptionRequest>, Rule> = {
  audio: anything,
  language: filledText,
  task: oneOf('transcribe', 'translate'),
  prompt: text,
  temperature: (value, name) =>
    Array.isArray(value)
      ? listOf(temperature, { least: 1, most: MOST_TEMPERATURES })(value, name)
      : temperature(value, name),
  timestamps: flag,
  words: flag,
  conditionOnPreviousText: flag,
  compressionRatioThreshold: orNull(real(0, 1e6)),
  logprobThreshold: orNull(real(-1e6, 0)),
  noSpeechThreshold: orNull(real(0, 1)),
  maxTokens: whole(1),
  seed: whole(0, Number.MAX_SAFE_INTEGER),
};

/** Throws bad_request for the first member of a request that is unknown or out of the model's bounds. */
export function checkTranscriptionRequest(
  request: TranscriptionRequest,
  {
    translates,
    timesWords,
    writesTimes,
  }: Pick<TranscriptionModelInfo, 'translates' | 'timesWords' | 'writesTimes'>,
  bounds: MediaBounds,
): void {
  checkOptions(request, REQUEST, 'a request', ['audio']);
  checkGiven('audio', request.audio, 'audio', bounds);
  if (request.task === 'translate' && !translates)
    throw badRequest('task is "translate", and the model knows English only: leave it out', 'task');
  if (request.words && !timesWords)
    throw badRequest('words is true, and the model gives words no times: leave it out', 'words');
  if (request.timestamps && !writesTimes)
    throw badRequest('timestamps is true, and the model writes no times: leave it out', 'timestamps');
  if (request.prompt?.trim() && !writesTimes)
    throw badRequest('prompt is given, and the model takes none with a sound: leave it out', 'prompt');
}
