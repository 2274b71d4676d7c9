// POST /v1/audio/transcriptions and /v1/audio/translations on a fake model: fields, forms of the reply, streams, errors.

import OpenAI, { toFile } from 'openai';
import { describe, expect, it } from 'vitest';
import { INSTRUCTED } from '../../../src/models/transcription-form.ts';
import { MODEL_KINDS } from '../../../src/index.ts';
import { createFakeModel } from '../fake-model.ts';
import { createFakeTranscriptionModel } from '../fake-transcription-model.ts';
import { start } from '../harness.ts';

const NAME = 'org/speech';
/** Of a language model that hears. */
const FORM = { ...INSTRUCTED, marker: '<text>' };

async function startSpeech() {
  const harness = await start({}, { names: ['org/chat'] });
  const speech = createFakeTranscriptionModel();
  harness.server.addModel({ names: [NAME], kind: MODEL_KINDS.transcription }).ready(speech);
  const post = async (fields: Record<string, string>, task = 'transcriptions') => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: NAME, ...fields })) form.append(name, value);
    if (fields['file'] === undefined) form.set('file', new File(['sound'], 'a.wav'));
    const response = await fetch(`${harness.url}/v1/audio/${task}`, { method: 'POST', body: form });
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      text: await response.text(),
    };
  };
  return { ...harness, speech, post };
}

describe('a server without a transcription model', () => {
  async function startDeaf() {
    const harness = await start({}, { names: ['org/chat'] });
    const post = async (model: string, task: string) => {
      const form = new FormData();
      form.set('model', model);
      form.set('file', new File(['sound'], 'a.wav'));
      const response = await fetch(`${harness.url}/v1/audio/${task}`, { method: 'POST', body: form });
      const { error } = (await response.json()) as { error: { param: string; message: string } };
      return [response.status, error.param, error.message];
    };
    return { ...harness, post };
  }

  it.each(['transcriptions', 'translations'])('says at %s what it has', async (task) => {
    const { post } = await startDeaf();
    const none = `there is no transcription model here for POST /v1/audio/${task}; this server has the chat model org/chat at POST /v1/chat/completions`;
    for (const model of ['default', 'unknown', 'whisper-1'])
      expect(await post(model, task)).toEqual([404, 'model', none]);
    expect(await post('chat', task)).toEqual([400, 'model', expect.stringContaining('hears no sounds')]);
  });

  it('asks the language model that hears, where none is named', async () => {
    const { server, url } = await startDeaf();
    const ears = createFakeModel();
    Object.assign(ears, { info: { ...ears.info, media: ['audio'], transcription: FORM } });
    server.addModel({ names: ['org/ears'] }).ready(ears);
    const form = new FormData();
    form.set('model', 'default');
    form.set('file', new File(['sound'], 'a.wav'));
    expect((await fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', body: form })).status).toBe(200);
    expect(ears.requests).toHaveLength(1);
  });
});

describe('a model that writes no times', () => {
  it.each([
    [{ response_format: 'srt' }, 'response_format'],
    [{ response_format: 'verbose_json', timestamp_granularities: 'segment' }, 'timestamp_granularities'],
  ])('refuses %j', async (fields, param) => {
    const { speech, post } = await startSpeech();
    Object.assign(speech.info, { writesTimes: false });
    const { status, text } = await post(fields);
    expect([status, JSON.parse(text).error]).toMatchObject([
      400,
      { param, message: expect.stringContaining('the model writes no times') },
    ]);
  });

  it('answers with its text alone', async () => {
    const { speech, post } = await startSpeech();
    Object.assign(speech.info, { writesTimes: false });
    speech.generate = async function* () {
      await Promise.resolve();
      yield { type: 'accepted', seconds: 31 };
      yield { type: 'language', language: 'en', probability: null };
      yield { type: 'delta', text: 'one' };
      yield { type: 'delta', text: ' two' };
      yield { type: 'done', tokens: 2 };
    };
    expect(JSON.parse((await post({ response_format: 'verbose_json' })).text)).toMatchObject({
      ...{ text: 'one two', language: 'english', duration: 31 },
    });
    expect((await post({ response_format: 'text' })).text).toBe('one two\n');
  });
});

describe('a transcription', () => {
  it('is read by the openai client, with the fields of the request', async () => {
    const { url, speech } = await startSpeech();
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
    const file = await toFile(Buffer.from('sound'), 'a.wav');
    const made = await client.audio.transcriptions.create({
      ...{ file, model: NAME, language: 'German', prompt: 'words here', temperature: 0.6 },
    });
    expect(made).toEqual({ text: 'words here', usage: { type: 'duration', seconds: 62 } });
    expect(speech.requests).toEqual([
      {
        audio: new Uint8Array(Buffer.from('sound')),
        ...{ task: 'transcribe', language: 'German', prompt: 'words here', temperature: [0.6, 0.8, 1] },
      },
    ]);
    await client.audio.translations.create({ file, model: NAME });
    expect(speech.requests[1]).toMatchObject({ task: 'translate', temperature: [0, 0.2, 0.4, 0.6, 0.8, 1] });
  });

  it.each([
    ['text', 'text/plain', 'one two\n'],
    ['srt', 'text/plain', '1\n00:00:00,000 --> 00:00:01,500\none\n\n2\n00:01:00,000 --> 00:01:01,500\ntwo\n'],
    [
      'vtt',
      'text/vtt',
      'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\none\n\n00:01:00.000 --> 00:01:01.500\ntwo\n',
    ],
  ])('comes as %s', async (format, type, text) => {
    const { post } = await startSpeech();
    const reply = await post({ response_format: format });
    expect(reply).toEqual({ status: 200, type: `${type}; charset=utf-8`, text });
  });

  it('comes with segments', async () => {
    const { post } = await startSpeech();
    const { text } = await post({ response_format: 'verbose_json', 'timestamp_granularities[]': 'segment' });
    expect(JSON.parse(text)).toMatchObject({
      ...{ task: 'transcribe', language: 'german', duration: 61.5, text: 'one two' },
      segments: [
        { id: 0, seek: 0, start: 0, end: 1.5, text: ' one', tokens: [0], avg_logprob: -0.5 },
        { id: 1, seek: 3000, start: 60, end: 61.5, text: ' two', no_speech_prob: 0.25 },
      ],
    });
  });

  it('comes with no segments of silence', async () => {
    const { post } = await startSpeech();
    const reply = await post({ prompt: 'silence', response_format: 'verbose_json' });
    expect(JSON.parse(reply.text)).toMatchObject({ text: '', segments: [] });
  });

  it('comes without segments from a language model that hears', async () => {
    const { server, post } = await startSpeech();
    const ears = createFakeModel();
    Object.assign(ears, { info: { ...ears.info, media: ['audio'], transcription: FORM } });
    ears.events = ['language Eng', 'lish<text>one', ' two'].map((text) => ({
      ...{ type: 'delta', text, choice: 0, ids: [1] },
    }));
    ears.events.push({
      ...{ type: 'done', choice: 0, finishReason: 'stop', matchedStop: null, completionTokens: 3 },
    });
    server.addModel({ names: ['org/ears'] }).ready(ears);
    const reply = await post({ model: 'org/ears', response_format: 'verbose_json' });
    expect(JSON.parse(reply.text)).toEqual({
      ...{ task: 'transcribe', language: 'english', duration: 0, text: 'one two' },
      usage: { type: 'duration', seconds: 0 },
    });
    expect(ears.requests[0]).toMatchObject({ temperature: 0, prompt: { messages: [{ role: 'user' }] } });
  });

  it('comes with words', async () => {
    const { post } = await startSpeech();
    const asked = { response_format: 'verbose_json', 'timestamp_granularities[]': 'word' };
    const reply = JSON.parse((await post(asked)).text) as object;
    expect(reply).toMatchObject({
      words: [
        { word: 'one', start: 0.1, end: 0.5 },
        { word: 'two', start: 60.1, end: 60.5 },
      ],
    });
    expect(reply).not.toHaveProperty('segments');
    const { text } = await post({ ...asked, response_format: 'srt' });
    expect(text).toBe('1\n00:00:00,100 --> 00:00:00,500\none\n\n2\n00:01:00,100 --> 00:01:00,500\ntwo\n');
  });

  it('comes as a stream', async () => {
    const { url } = await startSpeech();
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
    const file = await toFile(Buffer.from('sound'), 'a.wav');
    const stream = await client.audio.transcriptions.create({ file, model: NAME, stream: true });
    const events: unknown[] = [];
    for await (const event of stream) events.push(event);
    expect(events).toEqual([
      { type: 'transcript.text.delta', delta: 'one' },
      { type: 'transcript.text.delta', delta: ' two' },
      { type: 'transcript.text.done', text: 'one two', usage: { type: 'duration', seconds: 62 } },
    ]);
  });

  it.each([
    [{ model: '' }, 400, 'model'],
    [{ file: 'no file' }, 400, 'file'],
    [{ response_format: 'xml' }, 400, 'response_format'],
    [{ temperature: '2' }, 400, 'temperature'],
    [{ 'timestamp_granularities[]': 'word' }, 400, 'response_format'],
    [{ 'timestamp_granularities[]': 'letter' }, 400, 'timestamp_granularities'],
    [{ stream: 'true', response_format: 'srt' }, 400, 'response_format'],
    [{ 'known_speaker_names[]': 'me' }, 400, 'known_speaker_names'],
    [{ prompt: 'refuse bad_request' }, 400, 'file'],
    [{ model: 'org/chat' }, 400, 'model'],
    [{ model: 'org/chat', response_format: 'vtt' }, 400, 'response_format'],
  ])('is refused for %j', async (fields, status, param) => {
    const { post } = await startSpeech();
    const reply = await post(fields);
    const { error } = JSON.parse(reply.text) as { error: { param: string } };
    expect([reply.status, error.param]).toEqual([status, param]);
  });
});
