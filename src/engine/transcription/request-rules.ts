// Validation rules for the members of a request, whichever kind of model writes the text of its sound.

import {
  anything,
  checkOptions,
  filledText,
  flag,
  listOf,
  oneOf,
  real,
  text,
  whole,
  type Rule,
} from '../input/rules.ts';
import type { TranscriptionRequest } from './transcription-model.ts';

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

/** Throws bad_request for the first member of a request that is unknown or out of bounds. What the sound is, is checked where it is read. */
export function checkRequestMembers(request: TranscriptionRequest): void {
  checkOptions(request, REQUEST, 'a request', ['audio']);
}
