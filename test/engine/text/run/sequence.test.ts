// Events of a sequence: text and ids as they arrive, and its end.

import { describe, expect, it } from 'vitest';
import type { OutputParser } from '../../../../src/engine/text/calls/output-parser.ts';
import { createPieces } from '../../../../src/engine/text/calls/piece.ts';
import type { Sequence } from '../../../../src/engine/text/run/sequence.ts';
import type { TextEvent } from '../../../../src/engine/text/calls/text-model.ts';
import { openTokenizer } from '../../../../src/files/tokenizer/tokenizer.ts';
import { byteLevel } from '../../../files/tokenizer/small-tokenizers.ts';
import { formatOf, parserOf } from '../output/feed.ts';
import { paperSequence } from '../paper-sequence.ts';

const tokenizer = openTokenizer(byteLevel());
const END = 261;
const bytes = (text: string): number[] => [...new TextEncoder().encode(text)];

interface Options {
  maxTokens?: number;
  stop?: string[];
  stopIds?: number[];
  parser?: OutputParser;
}

function start({ maxTokens = 100, stop = [], stopIds = [END], parser }: Options = {}): {
  sequence: Sequence;
  events: TextEvent[];
} {
  const pieces = createPieces(tokenizer, { skipSpecialTokens: true });
  const sequence = paperSequence([1, 2], maxTokens, { stopIds, stop, pieces, ...(parser && { parser }) });
  return { sequence, events: sequence.events };
}

/** Feeds tokens until the sequence ends. */
function feed(ids: number[], options?: Options): { text: string; ids: number[]; end: TextEvent | undefined } {
  const { sequence, events } = start(options);
  for (const id of ids) if (!sequence.finished) sequence.acceptToken(id);
  const deltas = events.filter((event) => event.type === 'delta');
  return {
    text: deltas.map(({ text }) => text).join(''),
    ids: deltas.flatMap((delta) => delta.ids),
    end: events.find((event) => event.type === 'done'),
  };
}

describe('a sequence ends', () => {
  it('at the most tokens it may have', () => {
    const { text, ids, end } = feed(bytes('abcdef'), { maxTokens: 3 });
    expect({ text, ids }).toEqual({ text: 'abc', ids: bytes('abc') });
    expect(end).toEqual({
      type: 'done',
      choice: 0,
      finishReason: 'length',
      matchedStop: null,
      completionTokens: 3,
    });
  });

  it('at a stop token, which is counted and told without text', () => {
    const { text, ids, end } = feed([...bytes('ab'), END, ...bytes('c')]);
    expect({ text, ids }).toEqual({ text: 'ab', ids: [...bytes('ab'), END] });
    expect(end).toMatchObject({ finishReason: 'stop', matchedStop: END, completionTokens: 3 });
  });

  it('at a stop token even where that is the last it may have', () => {
    expect(feed([...bytes('a'), END], { maxTokens: 2 }).end).toMatchObject({ finishReason: 'stop' });
  });

  it('before a stop string that spans tokens', () => {
    const { text, ids, end } = feed(bytes('one two three'), { stop: ['two', 'three'] });
    expect({ text, ids }).toEqual({ text: 'one ', ids: bytes('one two') });
    expect(end).toMatchObject({ finishReason: 'stop', matchedStop: 'two', completionTokens: 7 });
  });

  it('once: an abort after the end emits no event', () => {
    const { sequence, events } = start({ maxTokens: 1 });
    sequence.acceptToken(97);
    const count = events.length;
    sequence.finish('abort', null);
    expect(events).toHaveLength(count);
  });
});

describe('text that is held back', () => {
  it('comes out where the stop string does not follow, with its ids', () => {
    const { sequence, events } = start({ stop: ['<end>'] });
    for (const id of bytes('a<e')) sequence.acceptToken(id);
    expect(events).toEqual([{ type: 'delta', choice: 0, text: 'a', ids: bytes('a') }]);
    sequence.acceptToken(120);
    expect(events.at(-1)).toEqual({ type: 'delta', choice: 0, text: '<ex', ids: bytes('<ex') });
  });

  it.each([['length'], ['abort'], ['stop']] as const)('comes out at the end by %s', (reason) => {
    const { sequence, events } = start({ stop: ['<end>'], maxTokens: 3 });
    for (const id of bytes('a<')) sequence.acceptToken(id);
    if (reason === 'length') sequence.acceptToken(101);
    if (reason === 'stop') sequence.acceptToken(END);
    if (reason === 'abort') sequence.finish('abort', null);
    const text = events.map((event) => (event.type === 'delta' ? event.text : '')).join('');
    expect(text).toBe(reason === 'length' ? 'a<e' : 'a<');
    expect(events.at(-1)).toMatchObject({ type: 'done', finishReason: reason });
  });

  it('is never half a character', () => {
    const { sequence, events } = start();
    for (const id of bytes('é中😀')) sequence.acceptToken(id);
    expect(events.map((event) => event.type === 'delta' && event.text)).toEqual(['é', '中', '😀']);
    expect(events.map((event) => event.type === 'delta' && event.ids.length)).toEqual([2, 3, 4]);
  });

  it('is U+FFFD where the rest of a character never comes', () => {
    const { text, ids } = feed(bytes('a中').slice(0, 3), { maxTokens: 3 });
    expect(text).toBe('a\ufffd');
    expect(ids).toHaveLength(3);
    expect(feed([...bytes('a中').slice(0, 3), END], { stopIds: [END] }).text).toBe('a\ufffd');
  });
});

describe('a reply with a tool call', () => {
  const call = '<tool_call>{"name": "ping", "arguments": {"a": 1}}</tool_call>';
  const ending = (text: string, stop: string[]): TextEvent | undefined => {
    const parser = parserOf(formatOf('hermes', null));
    const { sequence, events } = start({ stop, stopIds: [END, 33], maxTokens: 200, parser });
    for (const id of [...bytes(text), END]) if (!sequence.finished) sequence.acceptToken(id);
    return events.at(-1);
  };

  it('ends with tool_calls where all calls are whole', () => {
    const calls = { finishReason: 'tool_calls', matchedStop: null };
    expect(ending(call, [])).toMatchObject(calls);
    expect(ending(call, ['</tool_call>'])).toMatchObject(calls);
    expect(ending(`${call}\nDone.`, ['Done'])).toMatchObject(calls);
    expect(ending(`${call}!`, [])).toMatchObject(calls);
    expect(ending(call.slice(0, -13), [])).toMatchObject(calls);
  });

  it('ends with stop where the arguments of a call are no object', () => {
    const bad = call.replace('{"a": 1}', '{"a", 1}');
    for (const text of [call.slice(0, -16), bad, bad + call, call.replace('{"a": 1}', '[1]')])
      expect(ending(text, []), text).toMatchObject({ finishReason: 'stop', matchedStop: END });
  });

  it('ends with stop where a stop of the client has cut its last call', () => {
    expect(ending(call, ['"a"'])).toMatchObject({ finishReason: 'stop', matchedStop: '"a"' });
    expect(ending(`<tool_call>{"name": "ping", "arguments": {"a": "!`, [])).toMatchObject({
      finishReason: 'stop',
      matchedStop: 33,
    });
  });
});
