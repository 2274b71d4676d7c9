// Validation rules for the options of a transcription model and the fields of a request, under the library's names.

import { badRequest } from '../../files/error.ts';
import { MODEL_SETTINGS } from '../../options/model.ts';
import { forModels } from '../../options/setting.ts';
import { checkGiven } from '../../files/media/given.ts';
import type { MediaBounds } from '../../files/media/media.ts';
import { checkOptions, filledText, rulesOf, type Rule } from '../input/rules.ts';
import { checkRequestMembers } from './request-rules.ts';
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
  checkRequestMembers(request);
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
