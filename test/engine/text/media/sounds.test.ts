// Qwen2-Audio and Voxtral, opened as users open them, against what transformers generates for several sounds and turns.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TextModel, TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import { transcribeSound } from '../../../../src/chat/transcribe.ts';
import { openMediaModel } from './media-golden.ts';
import { soundGolden, soundRequest, type SoundConversation } from './sound-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

describe.each([
  { name: 'qwen2-audio', token: 259 },
  { name: 'qwen3-asr', token: 261 },
  { name: 'voxtral', token: 261 },
])('the media model $name', ({ name, token }) => {
  const { path, sounds, conversations } = soundGolden(name);
  let model: TextModel;
  beforeAll(async () => {
    model = await openMediaModel({ path }, { prefillChunk: 16, maxMediaSeconds: 3 });
  });
  afterAll(() => model.close());

  const requestOf = (one: Pick<SoundConversation, 'turns' | 'greedy'>): TextRequest =>
    soundRequest({ sounds }, one);
  const run = async (one: SoundConversation) => {
    const events = [];
    for await (const event of model.generate(requestOf(one))) events.push(event);
    const accepted = events.find((event) => event.type === 'accepted');
    const ids = events.flatMap((event) => (event.type === 'delta' ? event.ids : []));
    const cached = events.findLast((event) => event.type === 'prefill')?.cachedTokens;
    return { prompt: accepted?.promptIds, media: accepted?.mediaTokens, cached, ids };
  };

  it('makes the ids and the tokens of transformers, one request after the other and all at once', async () => {
    expect(model.info.media).toEqual(['audio']);
    for (const one of conversations) {
      const heard = one.ids.filter((id) => id === token).length;
      expect(await run(one), one.name).toMatchObject({
        prompt: one.ids,
        media: heard > 0 ? { audio: heard } : undefined,
        ids: one.greedy,
      });
    }
    await model.flushCache();
    const together = await Promise.all(conversations.map(run));
    expect(together.map(({ ids }) => ids)).toEqual(conversations.map(({ greedy }) => greedy));
  });

  it('writes the text of a sound', async () => {
    const made = await transcribeSound(model, sounds[0]!, { language: 'de', maxTokens: 3 });
    expect(made).toMatchObject({ language: 'de', text: expect.any(String) as string, segments: [] });
    expect(made.duration).toBeCloseTo(0.3111, 3);
  });

  it('finds the tokens of a sound that was heard before', async () => {
    await model.flushCache();
    const [one] = conversations as [SoundConversation];
    expect((await run(one)).cached).toBe(0);
    const again = await run(one);
    // A last page of words alone is found up to the prompt's last token.
    expect([Math.floor((one.ids.length - 1) / 32) * 32, one.ids.length - 1]).toContain(again.cached);
    expect(again.ids).toEqual(one.greedy);
  });

  it('refuses sounds that are too long, cut off or none, and goes on', async () => {
    const refused = async (audio: Uint8Array) => {
      const request = requestOf({ turns: [['user', [0]]], greedy: [] });
      const content = [{ type: 'audio' as const, audio }];
      const sent = { ...request, prompt: { messages: [{ role: 'user' as const, content }] } };
      const reading = (async () => {
        for await (const event of model.generate(sent)) if (event.type === 'done') return;
      })();
      return reading.then(
        () => null,
        (error: unknown) => error as { code: string; param: string; message: string },
      );
    };
    const long = new Uint8Array(44 + 2 * 16_000 * 4);
    long.set(sounds[0]!.subarray(0, 44));
    new DataView(long.buffer).setUint32(40, long.length - 44, true);
    const param = 'messages.0.content.0.audio';
    expect(await refused(long)).toMatchObject({
      code: 'bad_request',
      param,
      message: expect.stringMatching(/more than 3 seconds/),
    });
    const cut = sounds[0]!.subarray(0, 3000);
    expect(await refused(cut)).toMatchObject({
      code: 'bad_request',
      param,
      message: expect.stringMatching(/cut off/),
    });
    const text = new TextEncoder().encode('no sound at all');
    expect(await refused(text)).toMatchObject({
      code: 'bad_request',
      param,
      message: expect.stringMatching(/no known format/),
    });
    expect((await run(conversations[0]!)).ids).toEqual(conversations[0]!.greedy);
  });
});
