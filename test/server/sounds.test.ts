// Sounds through the server and the engine: a tiny random Qwen2-Audio answers with the tokens that transformers computes. What is refused
// changes nothing for the requests after it.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TextModel } from '../../src/index.ts';
import { type RunningServer, startServer } from '../../src/server/lifecycle.ts';
import { openMediaModel } from '../engine/text/media/media-golden.ts';
import { soundGolden, type SoundConversation } from '../engine/text/media/sound-golden.ts';

const AUDIO = 259;
const golden = soundGolden('qwen2-audio');
const files = golden.sounds.map((file) => Buffer.from(file).toString('base64'));

let model: TextModel;
let server: RunningServer;

beforeAll(async () => {
  const log = { error: console.error, warn() {}, info() {}, debug() {} };
  server = await startServer({ host: '127.0.0.1', port: 0 }, log);
  model = await openMediaModel(golden, { maxMediaSeconds: 2 });
  server.addModel().ready(model);
}, 120_000);

afterAll(async () => {
  await server?.close();
  await model?.close();
});

interface Reply {
  choices: { token_ids: number[]; prompt_token_ids: number[] }[];
  usage: { prompt_tokens: number; prompt_tokens_details?: { audio_tokens?: number } };
  error: { message: string; param: string };
}

async function chat(messages: unknown, maxTokens: number): Promise<{ status: number; body: Reply }> {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'default',
      messages,
      max_completion_tokens: maxTokens,
      temperature: 0,
      ignore_eos: true,
      return_token_ids: true,
      return_prompt_token_ids: true,
    }),
  });
  return { status: response.status, body: (await response.json()) as Reply };
}

/** Sounds are sent in both forms in turn. */
function messagesOf({ turns }: SoundConversation) {
  let sent = 0;
  const partOf = (part: string | number): object => {
    if (typeof part === 'string') return { type: 'text', text: part };
    return sent++ % 2 === 0
      ? { type: 'input_audio', input_audio: { data: files[part], format: 'wav' } }
      : { type: 'audio_url', audio_url: { url: `data:audio/wav;base64,${files[part]}` } };
  };
  return turns.map(([role, content]) => ({
    role,
    content: typeof content === 'string' ? content : content.map(partOf),
  }));
}

async function expectAnswer(one: SoundConversation): Promise<void> {
  const { status, body } = await chat(messagesOf(one), one.greedy.length);
  expect(status).toBe(200);
  expect(body.choices[0]).toMatchObject({ token_ids: one.greedy, prompt_token_ids: one.ids });
  const heard = one.ids.filter((id) => id === AUDIO).length;
  expect(body.usage.prompt_tokens).toBe(one.ids.length);
  expect(body.usage.prompt_tokens_details?.audio_tokens).toBe(heard > 0 ? heard : undefined);
}

it('the server answers a sound with the tokens of transformers, and counts its tokens', async () => {
  for (const one of golden.conversations) await expectAnswer(one);
});

it('/v1/models lists audio for a model that hears', async () => {
  const response = await fetch(`${server.url}/v1/models`);
  const { data } = (await response.json()) as { data: { modalities: string[] }[] };
  expect(data[0]!.modalities).toEqual(['text', 'audio']);
});

describe('a part that is not sound for the model is refused, and the next request is answered', () => {
  const [file] = golden.sounds as [Uint8Array];
  const long = (seconds: number): Buffer => {
    const whole = Buffer.alloc(44 + 2 * 16_000 * seconds);
    whole.set(file.subarray(0, 44));
    whole.writeUInt32LE(whole.length - 44, 40);
    return whole;
  };

  it.each([
    ['beyond the limit of seconds', long(3), /lasts more than 2 seconds/],
    ['longer than the model hears', long(2), /lasts 2 seconds, and this model hears at most 1/],
    ['cut off', Buffer.from(file.subarray(0, 3000)), /damaged or cut off/],
    ['an image', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), /an image and not a sound/],
    ['nothing known', Buffer.from('these are words'), /no known format/],
  ])('%s', async (_, bytes, message) => {
    const part = { type: 'input_audio', input_audio: { data: bytes.toString('base64'), format: 'wav' } };
    const { status, body } = await chat([{ role: 'user', content: [part] }], 4);
    expect(status).toBe(400);
    expect(body.error.message).toMatch(message);
    expect(body.error.param).toContain('messages.0.content.0');
    await expectAnswer(golden.conversations[0]!);
  });

  it('an image part, which the model does not take', async () => {
    const part = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    const { status, body } = await chat([{ role: 'user', content: [part] }], 4);
    expect(status).toBe(400);
    expect(body.error.message).toMatch(/image/);
  });
});
