// Sounds as texts by language models that hear: what is asked in the form of a class, and what is read from the reply.

import { describe, expect, it } from 'vitest';
import { transcribeSound, transcriptionEvents } from '../../src/chat/transcribe.ts';
import type { TextEvent, TextModel, TextRequest } from '../../src/engine/text/calls/text-model.ts';
import type {
  TranscriptionEvent,
  TranscriptionRequest,
} from '../../src/engine/transcription/transcription-model.ts';
import { EngineError } from '../../src/files/error.ts';
import { verboseTranscription } from '../../src/files/transcript-formats.ts';
import { VOXTRAL_FORM } from '../../src/models/audio/voxtral.ts';
import { INSTRUCTED, type TranscriptionForm } from '../../src/models/transcription-form.ts';

const audio = new Uint8Array(4);

function modelOf(form: TranscriptionForm | null, pieces: readonly string[] = ['one', ' two']) {
  const requests: TextRequest[] = [];
  const model = {
    info: { kind: 'text', name: 'ears', ...(form && { transcription: form }) },
    async *generate(request: TextRequest): AsyncGenerator<TextEvent, void, void> {
      await Promise.resolve();
      requests.push(request);
      yield { type: 'accepted', promptTokens: 3, maxTokens: 9, seconds: 1.5 };
      for (const text of pieces) yield { type: 'delta', text, choice: 0, ids: [1] };
      const done = { type: 'done', choice: 0, finishReason: 'stop', matchedStop: null } as const;
      yield { ...done, completionTokens: pieces.length };
    },
  } as unknown as Pick<TextModel, 'info' | 'generate'>;
  return { model, requests };
}

async function eventsOf(model: Pick<TextModel, 'info' | 'generate'>, request: Partial<TranscriptionRequest>) {
  const events: TranscriptionEvent[] = [];
  for await (const event of transcriptionEvents(model, { audio, ...request })) events.push(event);
  return events;
}

const SOUND = { type: 'audio', audio };

describe('a language model is asked for the text of a sound', () => {
  it('in the form of its class', async () => {
    const { model, requests } = modelOf(VOXTRAL_FORM);
    expect(
      await transcribeSound(model, audio, { language: 'German', temperature: [0, 0.2], seed: 1 }),
    ).toEqual({
      ...{ text: 'one two', language: 'de', duration: 1.5, segments: [] },
    });
    expect(requests[0]).toEqual({
      prompt: {
        messages: [
          { role: 'user', content: [SOUND] },
          { role: 'assistant', content: 'lang:de[TRANSCRIBE]' },
        ],
        continueFinal: true,
      },
      ...{ temperature: 0, seed: 1 },
    });
    await eventsOf(model, {});
    // What is no code of a language stands as it is.
    await eventsOf(model, { language: 'Brazilian Portuguese' });
    expect(requests[2]!.prompt).toMatchObject({
      messages: [{}, { content: 'lang:brazilian portuguese[TRANSCRIBE]' }],
    });
    expect(requests[1]!.prompt).toMatchObject({ messages: [{}, { content: '[TRANSCRIBE]' }] });
  });

  it('by an instruction, in the language that is known', async () => {
    const { model, requests } = modelOf(INSTRUCTED);
    expect(await eventsOf(model, { language: 'yue-HK', prompt: 'Names: Svea' })).toEqual([
      { type: 'accepted', seconds: 1.5 },
      { type: 'language', language: 'yue', probability: null },
      { type: 'delta', text: 'one' },
      { type: 'delta', text: ' two' },
      { type: 'done', tokens: 2 },
    ]);
    const text =
      'Transcribe the speech, which is Cantonese. Answer with its text alone, in the language that is spoken.';
    expect(requests[0]!.prompt).toEqual({
      messages: [
        { role: 'system', content: 'Names: Svea' },
        { role: 'user', content: [SOUND, { type: 'text', text }] },
      ],
      continueFinal: false,
    });
  });

  it.each([
    [['language Ger', 'man<asr_', 'text>ja', ' so'], 'de', 'ja so'],
    [['language None<asr_text>'], '', ''],
    [['language Chinese,English<asr_text>ni hao'], 'chinese,english', 'ni hao'],
    [['no ', 'marker'], '', 'no marker'],
  ])('whose language stands in the reply: %j', async (pieces, language, text) => {
    const { model } = modelOf({ ...INSTRUCTED, marker: '<asr_text>' }, pieces);
    const made = await transcribeSound(model, audio);
    expect(made).toMatchObject({ language, text });
    // Whatever a reply names, the transcription can be written.
    const name = language === 'de' ? 'german' : language;
    expect(verboseTranscription(made)).toMatchObject({ language: name, text });
  });

  it.each([
    [VOXTRAL_FORM, { words: true }, 'bad_request', 'words'],
    [VOXTRAL_FORM, { timestamps: true }, 'bad_request', 'timestamps'],
    [VOXTRAL_FORM, { prompt: 'names' }, 'bad_request', 'prompt'],
    [{ ...VOXTRAL_FORM, translate: null }, { task: 'translate' }, 'bad_request', 'task'],
    [INSTRUCTED, { task: 'foo' }, 'bad_request', 'task'],
    [INSTRUCTED, { prompt: 5 }, 'bad_request', 'prompt'],
    [INSTRUCTED, { temperature: [] }, 'bad_request', 'temperature'],
    [INSTRUCTED, { language: '' }, 'bad_request', 'language'],
    [INSTRUCTED, { other: 1 }, 'bad_request', 'other'],
    [null, {}, 'unsupported', undefined],
  ])('and refuses what it cannot give: %#', async (form, request, code, param) => {
    const { model } = modelOf(form);
    await expect(eventsOf(model, request as Partial<TranscriptionRequest>)).rejects.toMatchObject({
      code,
      ...(param && { param }),
    });
  });

  it('and ends with the error of its reply', async () => {
    const { info } = modelOf(INSTRUCTED).model;
    const done = { type: 'done', choice: 0, finishReason: 'abort', matchedStop: null } as const;
    const model = {
      info,
      async *generate(): AsyncGenerator<TextEvent, void, void> {
        await Promise.resolve();
        yield { type: 'accepted', promptTokens: 3, maxTokens: 9, seconds: 1.5 };
        const error = { code: 'device_lost', message: 'the device is lost' } as const;
        yield { ...done, completionTokens: 0, error };
        throw new EngineError(error.code, error.message);
      },
    };
    const events = transcriptionEvents(model, { audio });
    expect((await events.next()).value).toEqual({ type: 'accepted', seconds: 1.5 });
    await expect(events.next()).rejects.toMatchObject({ code: 'device_lost' });
  });
});
