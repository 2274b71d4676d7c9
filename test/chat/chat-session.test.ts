// Conversations on a model that a test has scripted: history, streams, aborts, branches, context policies, saving.

import { describe, expect, it } from 'vitest';
import type { ChatEvent, ChatMessage, TextPrompt } from '../../src/index.ts';
import { scriptedModel } from './scripted-model.ts';

const messagesOf = ({ prompt }: { prompt: TextPrompt }): ChatMessage[] =>
  'messages' in prompt ? prompt.messages : [];
const said = (messages: readonly ChatMessage[]): unknown[] => messages.map(({ content }) => content);

describe('a session', () => {
  it('keeps the system prompt, what was said and what was thought', async () => {
    const model = scriptedModel([{ reasoning: 'Hm.', text: 'Hello you' }, { text: 'Again' }]);
    const chat = model.chat({ system: 'Be kind.', temperature: 0.5 });
    const reply = await chat.send('Hi');
    expect(reply).toMatchObject({
      text: 'Hello you',
      reasoning: 'Hm.',
      value: undefined,
      finishReason: 'stop',
    });
    expect(reply.usage).toEqual({
      promptTokens: 10,
      cachedTokens: 4,
      completionTokens: 5,
      reasoningTokens: 2,
    });
    await chat.send([{ type: 'text', text: 'And?' }], { temperature: 0 });
    expect(model.requests.map(({ temperature }) => temperature)).toEqual([0.5, 0]);
    expect(messagesOf(model.requests[1]!)).toEqual([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello you', reasoning_content: 'Hm.' },
      { role: 'user', content: [{ type: 'text', text: 'And?' }] },
    ]);
    expect(chat.messages).toHaveLength(4);
  });

  it('streams events that end with the reply; a late reader gets all of them', async () => {
    const chat = scriptedModel([{ reasoning: 'Hm.', text: 'one two' }]).chat();
    const stream = chat.send('Hi');
    const reply = await stream.result();
    const events: ChatEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'delta', text: 'one' },
      { type: 'delta', text: ' two' },
      { type: 'done', reply },
    ]);
  });

  it('is as it was before after an abort, by a signal, by abort() or by a reader that leaves', async () => {
    const hanging = { text: 'Well', hangs: true };
    const chat = scriptedModel([hanging, hanging, { text: 'Yes' }]).chat();
    const controller = new AbortController();
    const notOne = {} as AbortSignal;
    expect(() => chat.send('a', { signal: notOne })).toThrow(
      expect.objectContaining({ code: 'bad_request', param: 'signal' }),
    );
    const bySignal = chat.send('a', { signal: controller.signal });
    expect(() => chat.send('b')).toThrow(expect.objectContaining({ code: 'bad_request' }));
    const read = async (): Promise<void> => {
      for await (const event of bySignal) if (event.type === 'delta') controller.abort();
    };
    await expect(read()).rejects.toMatchObject({ code: 'cancelled' });
    await expect(bySignal).rejects.toMatchObject({ code: 'cancelled' });
    const stream = chat.send('c');
    stream.abort(); // before the model is asked
    await expect(stream.result()).rejects.toMatchObject({ code: 'cancelled' });
    const left = chat.send('d');
    for await (const event of left) if (event.type === 'delta') break;
    await expect(left).rejects.toMatchObject({ code: 'cancelled' });
    expect(chat.messages).toEqual([]);
    await chat.send('e');
    expect(said(chat.messages)).toEqual(['e', 'Yes']);
  });

  it('is as it was before after an error of the model, which readers get too', async () => {
    const chat = scriptedModel([]).chat();
    const stream = chat.send('a');
    const read = async (): Promise<void> => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toThrow('the script has no more rounds');
    expect(chat.messages).toEqual([]);
    expect(chat.isAnswering).toBe(false);
  });

  it('takes the next message while the end of the one before is read', async () => {
    const chat = scriptedModel([{ text: 'A' }, { text: 'B' }]).chat();
    for await (const event of chat.send('a')) if (event.type === 'done') await chat.send('b');
    expect(said(chat.messages)).toEqual(['a', 'A', 'b', 'B']);
  });

  it('branches, answers again, and answers an edited message', async () => {
    const model = scriptedModel(['A', 'B', 'C', 'D', 'E'].map((text) => ({ text })));
    const chat = model.chat({ system: 'S' });
    await chat.send('a');
    await chat.send('b');
    const branch = chat.branch(2);
    await branch.send('c');
    expect(said(branch.messages)).toEqual(['a', 'A', 'c', 'C']);
    await chat.regenerate();
    expect(said(chat.messages)).toEqual(['a', 'A', 'b', 'D']);
    await chat.edit(0, 'x');
    expect(said(chat.messages)).toEqual(['x', 'E']);
    expect(said(messagesOf(model.requests[4]!))).toEqual(['S', 'x']);
    expect(() => chat.edit(1, 'y')).toThrow('messages.1 is not a message of the user');
    expect(() => chat.branch(9)).toThrow('give an index from 0 to 2');
    expect(() => model.chat().regenerate()).toThrow('has no message to answer again');
  });

  it.each([
    [{ maxRounds: 0 }, 'maxRounds'],
    [{ system: 3 as never }, 'system'],
    [{ context: 'forget' as never }, 'context'],
    [{ reserve: 1e9 }, 'reserve'],
    [{ toolTimeout: 0.5 }, 'toolTimeout'],
    [{ confirm: true as never }, 'confirm'],
    [{ tools: { f: { schema: {} } as never } }, 'tools.f'],
    [{ restore: { messages: [{ role: 'king' }], system: null, summary: null, start: 0 } }, 'restore'],
    [{ restore: { messages: [], system: null, summary: null, start: 1 } }, 'restore'],
  ])('refuses the options %j', (options, param) => {
    expect(() => scriptedModel([]).chat(options)).toThrow(
      expect.objectContaining({ code: 'bad_request', param }),
    );
  });

  it('refuses what chats do not have, with what is probably meant, and tools in a list', () => {
    const chat = (options: object) => () => scriptedModel([]).chat(options);
    expect(chat({ sistem: 'x' })).toThrow(
      /^sistem is unknown to chat\(\): did you mean system\? \(it takes system, tools, .*temperature/,
    );
    expect(chat({ max_tokens: 5 })).toThrow('max_tokens is unknown to chat(): it is written maxTokens');
    expect(chat({ prompt: { text: '' } })).toThrow('prompt is unknown to chat()');
    expect(chat({ temperature: 9 })).toThrow('temperature is 9');
    expect(chat({ tools: [{ schema: { type: 'object' }, run: () => '' }] })).toThrow(
      'tools is an object of name → tool: give one, such as { weather: tool({ schema, run }) }',
    );
  });

  it('needs a chat template', () => {
    const model = scriptedModel([]);
    Object.assign(model.info, { hasChatTemplate: false });
    try {
      expect(() => model.chat()).toThrow('no chat template');
    } finally {
      Object.assign(model.info, { hasChatTemplate: true });
    }
  });
});

describe('a conversation that exceeds the context', () => {
  const long = (word: string): string => Array<string>(20).fill(word).join(' ');
  const rounds = ['A', 'B', 'C', 'D'].map((text) => ({ text }));

  it('leaves out its oldest turns with slide, and more than it must', async () => {
    const model = scriptedModel(rounds, 80);
    const chat = model.chat({ system: 'S', context: 'slide', reserve: 10 });
    for (const word of ['a', 'b', 'c', 'd']) await chat.send(long(word));
    expect(model.requests.map((request) => said(messagesOf(request)))).toEqual([
      ['S', long('a')],
      ['S', long('a'), 'A', long('b')],
      ['S', long('a'), 'A', long('b'), 'B', long('c')],
      ['S', long('c'), 'C', long('d')],
    ]);
    expect(chat.messages).toHaveLength(8);
    const restored = model.chat({ restore: chat.save(), context: 'slide', reserve: 10 });
    expect(await restored.countTokens()).toBe(await chat.countTokens());
    expect(said(chat.branch(2).messages)).toEqual([long('a'), 'A']);
  });

  it('has a summary in their place with summarise', async () => {
    const model = scriptedModel(rounds, 80);
    const dropped: unknown[] = [];
    const summarise = ({
      summary,
      messages,
    }: {
      summary: string | null;
      messages: readonly ChatMessage[];
    }) => {
      dropped.push([summary, said(messages)]);
      return 'They spoke.';
    };
    const chat = model.chat({ system: 'S', context: { summarise }, reserve: 10 });
    for (const word of ['a', 'b', 'c', 'd']) await chat.send(long(word));
    expect(dropped).toEqual([[null, [long('a'), 'A', long('b'), 'B']]]);
    expect(said(messagesOf(model.requests[3]!))).toEqual(['S\n\nThey spoke.', long('c'), 'C', long('d')]);
    expect(chat.save()).toMatchObject({ start: 4, summary: 'They spoke.' });
  });
});

describe('a saved session', () => {
  it('is JSON, media included, and goes on where it was', async () => {
    const model = scriptedModel([{ text: 'A cat' }, { text: 'Yes' }]);
    const chat = model.chat({ system: 'S' });
    const image = { width: 1, height: 1, data: new Uint8Array([1, 2, 255]) };
    const sound = { samples: new Float32Array([0.5, -1]), sampleRate: 16000 };
    const parts = [
      { type: 'image' as const, image },
      { type: 'text' as const, text: 'What?', sound },
    ];
    await chat.send(parts);
    const json = JSON.stringify(chat.save());
    const restored = model.chat({ restore: JSON.parse(json) as ReturnType<typeof chat.save> });
    expect(restored.messages).toEqual(chat.messages);
    expect(restored.system).toBe('S');
    await restored.send('Sure?');
    expect(messagesOf(model.requests[1]!)[1]!.content).toEqual(parts);
    expect(chat.messages).toHaveLength(2);
  });
});
