// Options of the parser, and the contents of each part.

import { describe, expect, it } from 'vitest';
import type { OutputPart } from '../../../../src/engine/text/calls/output-parser.ts';
import type { Piece } from '../../../../src/engine/text/calls/piece.ts';
import { formatOf, parserOf, piecesOf, specials, told, TOOLS } from './feed.ts';

const THOUGHT = '<think>\na\n\nb\n</think>\n\nSo.\n<tool_call>\n{"name": "ping"}\n</tool_call>\n';
const letters = (text: string) => piecesOf(Array.from(text));
const format = formatOf('hermes', 'qwen3');

describe('reasoning in a reply', () => {
  it('stays in the content if it is not separated, tags, space and all', () => {
    const parts = told(letters(THOUGHT), format, { separateReasoning: false });
    expect(parts).toEqual([
      { content: '<think>\na\n\nb\n</think>\n\nSo.' },
      { name: 'ping', arguments: '{}' },
    ]);
    const open = told(letters('a\n</think>\nSo'), format, { separateReasoning: false, begins: 'reasoning' });
    expect(open).toEqual([{ content: 'a\n</think>\nSo' }]);
  });

  it('is closed before it is closed again, or without having begun', () => {
    expect(told(letters('<think>\na\n</think>\n</think>\n\nSo </think>'), format)).toEqual([
      { reasoning: 'a' },
      { content: 'So </think>' },
    ]);
    expect(told(letters('</think>\n\nSo'), format, { begins: 'closed' })).toEqual([{ content: 'So' }]);
  });

  it('comes in one part if it is not streamed, when it or the reply is over', () => {
    const all = (text: string): string[] => {
      const parser = parserOf(format, { streamReasoning: false });
      const parts = [...letters(text).flatMap((piece) => parser.push(piece)), ...parser.flush()];
      return parts.flatMap((part) => (part.kind === 'reasoning' ? [part.text] : []));
    };
    expect(all(THOUGHT)).toEqual(['a\n\nb']);
    expect(all('<think>\na\n\nb ')).toEqual(['a\n\nb ']);
  });

  it('is the answer if there is none and the request asks for that', () => {
    const fills = { reasoningFills: true };
    expect(told(letters('<think>\na\n</think>\n\n'), format, fills)).toEqual([{ content: 'a' }]);
    expect(told(letters('<think>\na'), format, fills)).toEqual([{ content: 'a' }]);
    expect(told(letters('<think>\na\n</think>\n\nSo'), format, fills)).toEqual([
      { reasoning: 'a' },
      { content: 'So' },
    ]);
    expect(told(letters('<think>a</think><tool_call>{"name": "ping"}</tool_call>'), format, fills)).toEqual([
      { reasoning: 'a' },
      { name: 'ping', arguments: '{}' },
    ]);
  });

  it('is counted to its end tag, tags included', () => {
    const count = (texts: string[], begins: 'reasoning' | 'undecided' = 'undecided'): number | null => {
      const parser = parserOf(format, { begins });
      piecesOf(texts).forEach((piece) => parser.push(piece));
      return parser.reasoningTokens;
    };
    expect(count(['<think>', 'a', 'b', '</think>', 'c', 'd'])).toBe(4);
    expect(count(['a', 'b', '</', 'think>', 'c'], 'reasoning')).toBe(4);
    expect(count(['a', 'b'], 'reasoning')).toBe(2);
    expect(count(['a', 'b'])).toBe(0);
    expect(count(['<think>', 'a', '<tool_call>', '{"name": "ping"}'])).toBe(2);
    expect(parserOf(formatOf('hermes', null)).reasoningTokens).toBe(null);
  });

  it('of several messages is counted message by message', () => {
    const marks = ['<|start|>', '<|channel|>', '<|message|>', '<|end|>'];
    const parser = parserOf(formatOf('gpt-oss', null), { specialId: specials(marks) });
    const texts = ['<|channel|>', 'analysis', '<|message|>', 'a', '<|end|>', '<|start|>', 'assistant'];
    const answer = ['<|channel|>', 'final', '<|message|>', 'b', '<|end|>'];
    piecesOf([...texts, ...answer], marks).forEach((piece) => parser.push(piece));
    expect(parser.reasoningTokens).toBe(5);
  });
});

describe('tools in a reply', () => {
  it('that are not declared are text', () => {
    const tools = [TOOLS.find((tool) => tool.function.name === 'ping')!];
    const other = '<tool_call>\n{"name": "search", "arguments": {"query": "a"}}\n</tool_call>';
    expect(told(letters(other), format, { tools })).toEqual([{ content: other }]);
    expect(told(letters(`${other}\n<tool_call>{"name": "ping"}</tool_call>`), format, { tools })).toEqual([
      { content: other },
      { name: 'ping', arguments: '{}' },
    ]);

    const marks = ['<|start|>', '<|channel|>', '<|message|>', '<|end|>', '<|call|>'];
    const messages = ['search', 'ping'].flatMap((name) => [
      ...['<|start|>', 'assistant', '<|channel|>', `commentary to=functions.${name} `],
      ...['<|message|>', '{}', '<|call|>'],
    ]);
    const channels = { tools, specialId: specials(marks) };
    expect(told(piecesOf(messages, marks), formatOf('gpt-oss', null), channels)).toEqual([
      { content: '{}' },
      { name: 'ping', arguments: '{}' },
    ]);
  });

  it('may be called once: the reply is over behind the first call', () => {
    const parser = parserOf(format, { singleCall: true });
    const text = '<tool_call>{"name": "ping"}</tool_call><tool_call>{"name": "ping"}</tool_call>';
    const [before, rest] = [text.slice(0, 39), text.slice(39)];
    letters(before).forEach((piece) => parser.push(piece));
    expect(parser.ended).toBe(true);
    letters(rest).forEach((piece) => parser.push(piece));
    parser.flush();
    expect(parser.toolCalls).toBe(1);
  });

  it('cut before their name are not text where only calls can stand', () => {
    for (const cut of ['<tool_c', '<tool_call>\n', '<tool_call>\n{"name": "', '<tool_call>\n{"name": "se'])
      expect(told(letters(cut), format, { callsOnly: true }), cut).toEqual([]);
    expect(told(letters('<tool_call>{"name": "'), format)).toEqual([{ content: '<tool_call>{"name": "' }]);
  });

  it.each([
    ['hermes', '<tool_call>{"name": "ping", "arguments": '],
    ['hermes', '<tool_call>{"name": "ping", "arguments": nul'],
    ['mistral', '[TOOL_CALLS]ping[ARGS]'],
  ])('of %s cut before their arguments have none', (name, text) => {
    const [call] = told(letters(text), formatOf(name, null));
    expect(call).toMatchObject({ name: 'ping', arguments: expect.not.stringContaining('{') as string });
  });

  it('with names that begin as others, and with any characters, are read whole', () => {
    const named = (name: string) => ({ type: 'function' as const, function: { name } });
    const declared = { tools: ['get', 'get weather!', 'a>b', 'n'.repeat(300)].map(named) };
    const coder = formatOf('qwen3_coder', null);
    const call = (name: string): string => `<tool_call>\n<function=${name}>\n</function>\n</tool_call>`;
    for (const {
      function: { name },
    } of declared.tools) {
      expect(told(letters(call(name)), coder, declared)).toEqual([{ name, arguments: '{}' }]);
      const marks = ['<|channel|>', '<|message|>', '<|call|>'];
      const texts = ['<|channel|>', `commentary to=functions.${name} `, '<|message|>', '{}', '<|call|>'];
      const channels = { ...declared, specialId: specials(marks) };
      expect(told(piecesOf(texts, marks), formatOf('gpt-oss', null), channels)).toEqual([
        { name, arguments: '{}' },
      ]);
    }
    for (const name of ['ge', 'gets', 'get weather', 'a>', 'n'])
      expect(told(letters(call(name)), coder, declared)).toEqual([{ content: call(name) }]);
  });

  it('are named before their arguments, which come as they are written', () => {
    const parser = parserOf(format);
    const text = '<tool_call>{"name": "search", "arguments": {"query": "abc"}}</tool_call>';
    const parts = letters(text).flatMap((piece) => parser.push(piece));
    expect(parts[0]).toMatchObject({ kind: 'toolCall', name: 'search', id: 'call_0', text: '' });
    expect(parts.slice(1).map(({ text: more }) => more)).toEqual(Array.from('{"query": "abc"}'));
  });

  it('have ids as the field makes them', () => {
    const [part] = parserOf(format, { callId: undefined! }).push({
      id: 0,
      text: '<tool_call>{"name": "ping"',
      special: false,
    });
    expect(part).toMatchObject({ id: expect.stringMatching(/^call_[\da-f]{24}$/) });
  });
});

describe('tokens of a reply', () => {
  it('carry their log probabilities, each in one part', () => {
    const logprob = (id: number) => ({ id, bytes: [], logprob: -id, top: [] });
    const pieces: Piece[] = letters(THOUGHT).map((piece) => ({ ...piece, logprob: logprob(piece.id!) }));
    const parser = parserOf(format);
    const parts: OutputPart[] = [...pieces.flatMap((piece) => parser.push(piece)), ...parser.flush()];
    expect(parts.flatMap((part) => part.ids)).toEqual(pieces.map(({ id }) => id));
    expect(parts.flatMap((part) => part.logprobs)).toEqual(pieces.map((piece) => piece.logprob));
  });

  it('may have text that comes later, without an id', () => {
    const parser = parserOf(format);
    const late = parser.push({ id: null, text: 'é', special: false });
    expect([...parser.push({ id: 5, text: '', special: false }), ...late, ...parser.flush()]).toEqual([
      { kind: 'content', text: 'é', ids: [], logprobs: [] },
      { kind: 'content', text: '', ids: [5], logprobs: [] },
    ]);
  });
});

describe('a long reply', () => {
  it('takes time in proportion, whatever it consists of', () => {
    const time = (text: string): number => {
      const from = process.cpuUsage();
      told(
        [
          { id: 0, text, special: false },
          { id: 1, text: '.', special: false },
        ],
        format,
      );
      const { user, system } = process.cpuUsage(from);
      return (user + system) / 1000;
    };
    for (const part of ['<tool_call>{"arguments": {"a', '<tool_call>', '<', '\n ', '<think>']) {
      time(part.repeat(500));
      const short = time(part.repeat(1000));
      const long = time(part.repeat(8000));
      expect(long, part).toBeLessThan(Math.max(40 * short, 400));
    }
  });
});
