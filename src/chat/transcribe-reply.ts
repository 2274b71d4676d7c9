// The text of a sound by a language model that hears, asked in the form of its class.

import type { ChatMessage, TextModel, TranscriptionForm } from '../engine/text/calls/text-model.ts';
import { checkRequestMembers } from '../engine/transcription/request-rules.ts';
import type {
  TranscriptionEvent,
  TranscriptionRequest,
} from '../engine/transcription/transcription-model.ts';
import { badRequest, EngineError, unsupported } from '../files/error.ts';
import { languageCodeOf, languageName } from '../files/language-names.ts';
import { replyAborted } from './tool-calls.ts';

type Asking = Pick<TextModel, 'info' | 'generate'>;

/** Members of a request for what a reply has none of: times, windows. */
const NOT_IN_REPLIES = [
  ...(['words', 'timestamps', 'conditionOnPreviousText'] as const),
  ...(['compressionRatioThreshold', 'logprobThreshold', 'noSpeechThreshold'] as const),
];

/** Errors: those of generate(); bad_request for what the class cannot give; unsupported for a model that hears nothing. */
export async function* transcribeReply(
  model: Asking,
  request: TranscriptionRequest,
  { signal }: { signal?: AbortSignal | undefined } = {},
): AsyncGenerator<TranscriptionEvent, void, void> {
  const { transcription: form, name } = model.info;
  if (!form)
    throw unsupported(`${name} hears no sounds: give a transcription model, or one that does`, 'model');
  checkRequestMembers(request);
  const messages = messagesOf(form, request);
  const { temperature = 0, maxTokens, seed } = request;
  const asked = {
    prompt: { messages, continueFinal: messages.at(-1)!.role === 'assistant' },
    temperature: [temperature].flat()[0]!,
    ...(maxTokens !== undefined && { maxTokens }),
    ...(seed !== undefined && { seed }),
  };
  const found = new Found(form, request);
  try {
    for await (const event of model.generate(asked, signal ? { signal } : {})) {
      if (event.type === 'accepted') yield { type: 'accepted', seconds: event.seconds ?? 0 };
      else if (event.type === 'delta') yield* found.add(event.text);
      else if (event.type === 'done') {
        // The reply throws it next.
        if (event.error) continue;
        if (event.finishReason === 'abort') throw replyAborted();
        yield* found.end();
        yield { type: 'done', tokens: event.completionTokens };
      }
    }
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw error.withPaths((path) => (path.startsWith('messages') ? 'audio' : path));
  }
}

function messagesOf(form: TranscriptionForm, request: TranscriptionRequest): ChatMessage[] {
  const { audio, language, task = 'transcribe', prompt = '' } = request;
  for (const name of NOT_IN_REPLIES)
    if (request[name] !== undefined && request[name] !== false)
      throw badRequest(
        `${name} is given, and the model is a language model, whose replies have neither times nor windows: leave it out`,
        name,
      );
  const ways = form[task];
  if (ways === null)
    throw badRequest('task is "translate", and the model does not translate: leave it out', 'task');
  if (prompt.trim() !== '' && !form.takesPrompt)
    throw badRequest('prompt is given, and the model takes none with a sound: leave it out', 'prompt');
  const way = language === undefined ? ways.unknown : ways.known;
  if (way === null)
    throw badRequest('language is given, and the model finds it out alone: leave it out', 'language');
  const { user, reply } = way;
  const filled = (text: string): string => withLanguage(text, language);
  const parts = user === '' ? [] : [{ type: 'text' as const, text: filled(user) }];
  return [
    ...(prompt.trim() === '' ? [] : [{ role: 'system' as const, content: prompt.trim() }]),
    { role: 'user', content: [{ type: 'audio', audio }, ...parts] },
    ...(reply === '' ? [] : [{ role: 'assistant' as const, content: filled(reply) }]),
  ];
}

function withLanguage(text: string, language: string | undefined): string {
  if (language === undefined) return text;
  const code = languageCodeOf(language);
  const name = languageName(code);
  return text.replace('{code}', code).replace('{language}', name.charAt(0).toUpperCase() + name.slice(1));
}

/** Words before the name of the language in a reply. */
const NAMED = /^language\s+/i;

/** Divides a reply into its language and its text. */
class Found {
  readonly #marker: string | null;
  #language: string;
  /** The text so far, while the marker may still come; null: it has come, or the reply has none. */
  #head: string | null;
  #begun = false;

  constructor(
    { marker }: TranscriptionForm,
    { language, task }: Pick<TranscriptionRequest, 'language' | 'task'>,
  ) {
    this.#marker = marker;
    this.#language = language === undefined ? '' : languageCodeOf(language);
    this.#head = marker === null || task === 'translate' || language !== undefined ? null : '';
  }

  *add(text: string): Generator<TranscriptionEvent, void, void> {
    if (this.#head === null) return yield* this.#text(text);
    this.#head += text;
    const at = this.#head.indexOf(this.#marker!);
    if (at < 0) return;
    const [language, rest] = [this.#head.slice(0, at), this.#head.slice(at + this.#marker!.length)];
    const name = language.trim().replace(NAMED, '');
    this.#language = /^none$/i.test(name) ? '' : languageCodeOf(name);
    this.#head = null;
    yield* this.#text(rest);
  }

  /** A reply without its marker is text as a whole. */
  *end(): Generator<TranscriptionEvent, void, void> {
    const head = this.#head ?? '';
    this.#head = null;
    yield* this.#text(head);
  }

  *#text(text: string): Generator<TranscriptionEvent, void, void> {
    if (!this.#begun) yield { type: 'language', language: this.#language, probability: null };
    this.#begun = true;
    if (text !== '') yield { type: 'delta', text };
  }
}
