// POST /v1/audio/transcriptions and /v1/audio/translations: a sound in a form, and its text as the reply.

import type { H3Event } from 'h3';
import {
  EngineError,
  formatTranscription,
  MODEL_KINDS,
  type Transcription,
  type TranscriptionEvent,
  type TextModel,
  transcriptionEvents,
  type TranscriptionModel,
  type TranscriptionRequest,
  verboseTranscription,
  wholeTranscription,
} from '../../index.ts';
import { bodyChecker } from '../body/body.ts';
import { readForm } from '../body/form-body.ts';
import { abortWithClient, listIgnored, whileRunning } from '../service/model-call.ts';
import type { RouteTable } from '../service/route.ts';
import { requireRunning, type Service } from '../service/service.ts';
import { mayTranscribe, preferring } from '../service/default-model.ts';
import { type Finding, isDefault, noModel } from '../service/models.ts';
import { useModel } from '../service/use-model.ts';
import {
  checkTranscription,
  checkUntimed,
  granularitiesOf,
  TRANSCRIPTION_FIELDS,
  type TranscriptionBody,
  TRANSLATION_FIELDS,
} from './audio-schema.ts';
import { streamTranscription } from './audio-stream.ts';
import { usageOf } from './audio-usage.ts';

type Task = 'transcribe' | 'translate';

const COMMON = {
  group: 'Audio',
  schemas: [() => import('./audio-reply-schema.ts')],
  gives: 'text/*',
  reply: 'TranscriptionReply',
} as const;
const required = ['file', 'model'] as const;

export const AUDIO_ROUTES: RouteTable = {
  '/v1/audio/transcriptions': {
    POST: {
      handle: (service, event) => answer(service, event, 'transcribe'),
      summary: 'The text of a sound, of any length; with times as subtitles or segments, and as a stream.',
      ...COMMON,
      form: TRANSCRIPTION_FIELDS,
      required,
      event: 'TranscriptionStreamEvent',
    },
  },
  '/v1/audio/translations': {
    POST: {
      handle: (service, event) => answer(service, event, 'translate'),
      summary: 'The text of a sound in English, whatever is spoken.',
      ...COMMON,
      form: TRANSLATION_FIELDS,
      required,
    },
  },
};

const check = {
  transcribe: bodyChecker({ fields: TRANSCRIPTION_FIELDS, required, checkTogether: checkTranscription }),
  translate: bodyChecker({ fields: TRANSLATION_FIELDS, required }),
};

async function answer(service: Service, event: H3Event, task: Task): Promise<unknown> {
  requireRunning(service);
  const fields = task === 'transcribe' ? TRANSCRIPTION_FIELDS : TRANSLATION_FIELDS;
  const checked = check[task](await readForm(event.req, fields), service.options.strict);
  const { ignored } = checked;
  const body: TranscriptionBody = checked.body;
  const isStream = body.stream === true;
  const model = await findModel(service, event, body.model, isStream);
  if (model.info.kind === 'text' || !model.info.writesTimes) checkUntimed(body);
  listIgnored(event, ignored);
  const abort = abortWithClient(event);
  const request = { ...requestOf(body, task), audio: new Uint8Array(await body.file.arrayBuffer()) };
  const events = whileRunning(service, abort, underFieldNames(model, request, abort.signal));
  if (isStream) return streamTranscription(service, event, events, abort);
  const made = await wholeTranscription(events);
  return replyOf(event, made, body, { task, isTimed: model.info.kind === 'transcription' });
}

const { transcription: TRANSCRIPTION, text: TEXT } = MODEL_KINDS;

/** A model that transcribes, or a language model that hears; where none is named, one that transcribes comes first. Throws RequestError. */
async function findModel(service: Service, event: H3Event, requested: string, isStream: boolean) {
  const finding: Finding = {
    endpoints: { [TRANSCRIPTION.name]: `${event.req.method} ${event.url.pathname}` },
    candidates: (slots) =>
      preferring(({ kind }) => kind?.name === TRANSCRIPTION.name)(slots.filter(mayTranscribe)),
  };
  const asking = { service, event };
  const { model } = await useModel(asking, [TRANSCRIPTION, TEXT], requested, { ...finding, isStream });
  const hears = model.info.kind === 'transcription' || model.info.transcription !== undefined;
  // Whether a model hears may be known only once it is open.
  if (!hears && isDefault(service, requested))
    throw noModel(service.slots, TRANSCRIPTION, requested, finding);
  return model;
}

/** Whisper's own programs raise the temperature in steps of 0.2. */
function requestOf(body: TranscriptionBody, task: Task): Omit<TranscriptionRequest, 'audio'> {
  const { language, prompt, temperature = 0, seed } = body;
  const temperatures: number[] = [];
  for (let tenths = Math.round(temperature * 10); tenths <= 10; tenths += 2) temperatures.push(tenths / 10);
  return {
    task,
    temperature: [temperature, ...temperatures.slice(1)],
    ...(language !== undefined && { language }),
    ...(prompt !== undefined && { prompt }),
    ...(seed !== undefined && { seed }),
    ...(granularitiesOf(body).includes('word') && { words: true }),
  };
}

async function* underFieldNames(
  model: TranscriptionModel | TextModel,
  request: TranscriptionRequest,
  signal: AbortSignal,
): AsyncGenerator<TranscriptionEvent, void, void> {
  try {
    yield* transcriptionEvents(model, request, { signal });
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    // The engine's `task` is the route itself.
    const names: Readonly<Record<string, string>> = {
      ...{ audio: 'file', task: 'model', words: 'timestamp_granularities' },
    };
    throw error.withPaths((path) => names[path] ?? path);
  }
}

/** `isTimed`: the model divides texts into segments with times. */
function replyOf(
  event: H3Event,
  made: Transcription,
  body: TranscriptionBody,
  { task, isTimed }: { task: Task; isTimed: boolean },
): unknown {
  const { response_format: format = 'json' } = body;
  const usage = usageOf(made.duration);
  if (format === 'json') return { text: made.text, usage };
  if (format === 'verbose_json') {
    const { segments, ...verbose } = verboseTranscription(made, task);
    const granularities = granularitiesOf(body);
    const isAsked = granularities.length === 0 || granularities.includes('segment');
    return { ...verbose, ...(isTimed && isAsked && { segments }), usage };
  }
  event.res.headers.set('content-type', `text/${format === 'vtt' ? 'vtt' : 'plain'}; charset=utf-8`);
  return formatTranscription(made, format === 'text' ? 'txt' : format);
}
