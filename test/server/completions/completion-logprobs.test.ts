// Log probabilities of POST /v1/completions: parallel lists, for generated text and for an echoed prompt.

import { describe, expect, it } from 'vitest';
import { startCompleting, textsOf } from './completion-harness.ts';
import { script } from '../scripted.ts';

describe('logprobs of a completion', () => {
  const wanted = {
    tokens: ['<a>', ' two', ' three'],
    token_logprobs: [-0.25, -0.25, -0.25],
    top_logprobs: [
      { '<a>': -0.25, '<a>!': -0.5 },
      { ' two': -0.25, ' two!': -0.5 },
      { ' three': -0.25, ' three!': -0.5 },
    ],
    text_offset: [0, 3, 7],
  };

  it('are lists side by side', async () => {
    const { post, model } = await startCompleting();
    const { body } = await post({ prompt: 'a', logprobs: 2 });
    expect(model.requests[0]!.logprobs).toBe(2);
    expect(body.choices[0]!.logprobs).toEqual(wanted);
    expect((await post({ prompt: 'a' })).body.choices[0]!.logprobs).toBeNull();
    expect((await post({ prompt: 'a', logprobs: 0 })).body.choices[0]!.logprobs).toMatchObject({
      top_logprobs: [{ '<a>': -0.25 }, { ' two': -0.25 }, { ' three': -0.25 }],
    });
  });

  it('come with the text they are of in a stream', async () => {
    const { stream } = await startCompleting();
    const parts = (await stream({ prompt: 'a', logprobs: 2 })).flatMap(({ choices }) =>
      choices.flatMap(({ logprobs }) => (logprobs ? [logprobs] : [])),
    );
    for (const [name, values] of Object.entries(wanted))
      expect(parts.flatMap((part) => part[name])).toEqual(values);
  });

  it('spell bytes that are no character', async () => {
    const { post, model } = await startCompleting();
    script(model, () => [{ say: 'x' }, { end: 'stop' }]);
    const { generate } = model;
    model.generate = async function* (request) {
      for await (const event of generate(request))
        yield event.type === 'delta'
          ? { ...event, logprobs: [{ id: 1, bytes: [0xe2, 0x80], logprob: -1, top: [] }] }
          : event;
    };
    const { body } = await post({ prompt: 'a', logprobs: 1 });
    expect(body.choices[0]!.logprobs).toMatchObject({ tokens: ['bytes:\\xe2\\x80'] });
  });
});

describe('echo with logprobs', () => {
  const wanted = {
    tokens: ['<s>', 'a', 'b', '<ab>', ' two', ' three'],
    token_logprobs: [null, -0.25, -0.25, -0.25, -0.25, -0.25],
    top_logprobs: [
      null,
      { a: -0.25, 'a!': -0.5 },
      { b: -0.25, 'b!': -0.5 },
      { '<ab>': -0.25, '<ab>!': -0.5 },
      { ' two': -0.25, ' two!': -0.5 },
      { ' three': -0.25, ' three!': -0.5 },
    ],
    text_offset: [0, 0, 1, 2, 6, 10],
  };
  const fields = { prompt: 'ab', echo: true, logprobs: 2 };

  it("tells those of the prompt's tokens, the first without one", async () => {
    const { post, model } = await startCompleting();
    const { body } = await post(fields);
    expect(body.choices[0]).toMatchObject({ text: 'ab<ab> two three', logprobs: wanted });
    expect(model.requests[0]).toMatchObject({ logprobs: 2, promptLogprobs: 2 });
  });

  it('in a stream, too: with the echo, of each choice', async () => {
    const { stream } = await startCompleting();
    const chunks = await stream({ ...fields, prompt: ['ab', 'ab'], n: 2 });
    expect(textsOf(chunks)).toEqual(Array<string>(4).fill('ab<ab> two three'));
    for (const index of [0, 1, 2, 3]) {
      const parts = chunks.flatMap(({ choices }) =>
        choices.filter((choice) => choice.index === index && choice.logprobs),
      );
      expect(parts[0]!.text).toBe('ab');
      for (const [name, values] of Object.entries(wanted))
        expect(parts.flatMap(({ logprobs }) => logprobs![name])).toEqual(values);
    }
  });

  it('has each token among the best at its place, however unlikely it was', async () => {
    const { post, model } = await startCompleting();
    const { generate } = model;
    const best = { id: 9, bytes: [...Buffer.from('best')], logprob: -0.1 };
    const unlikely = <T extends object>(token: T) => ({ ...token, logprob: -7, top: [best] });
    model.generate = async function* (request) {
      for await (const event of generate(request))
        if (event.type === 'prompt') yield { ...event, tokens: event.tokens.map(unlikely) };
        else if (event.type === 'delta') yield { ...event, logprobs: event.logprobs!.map(unlikely) };
        else yield event;
    };
    const { body } = await post({ ...fields, logprobs: 1 });
    const { tokens, top_logprobs: top } = body.choices[0]!.logprobs as unknown as Record<string, string[]>;
    expect(top).toEqual(tokens!.map((token) => ({ [token]: -7, best: -0.1 })));
  });

  it('and nothing else with max_tokens 0', async () => {
    const { post, model } = await startCompleting();
    script(model, () => [{ end: 'length' }]);
    const { body } = await post({ ...fields, prompt: [97, 98], max_tokens: 0 });
    expect(body.choices[0]).toMatchObject({
      text: 'ab',
      finish_reason: 'length',
      logprobs: { tokens: ['<s>', 'a', 'b'], token_logprobs: [null, -0.25, -0.25], text_offset: [0, 0, 1] },
    });
    expect(model.requests[0]).toMatchObject({ maxTokens: 0 });
  });
});
