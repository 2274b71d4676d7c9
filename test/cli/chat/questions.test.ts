// Questions at a keyboard and from a pipe.

import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { pipedQuestions, terminalQuestions, type Questions } from '../../../src/cli/chat/questions.ts';

async function collect(questions: Questions): Promise<string[]> {
  const all: string[] = [];
  for await (const question of questions) all.push(question);
  return all;
}

function keyboard(): { input: PassThrough; questions: Questions; shown: () => string } {
  const input = new PassThrough();
  const output = new PassThrough();
  let shown = '';
  output.on('data', (bytes) => (shown += String(bytes)));
  return { input, questions: terminalQuestions(input, output), shown: () => shown };
}

it.each([
  ['one\rtwo\r', ['one', 'two']],
  ['  \rone\r', ['one']],
  ['\x1b[200~first\rsecond\rthird\x1b[201~ and more\r', ['first\nsecond\nthird and more']],
  ['\x1b[200~first\rsecond\r\x1b[201~\rnext\r', ['first\nsecond', 'next']],
  ['"""\rfirst\r\rsecond\r"""\rnext\r', ['first\n\nsecond', 'next']],
  ['"""in one line"""\r', ['in one line']],
  ['\x1b[200~"""\rdoc\r"""\rcode\x1b[201~\r', ['"""\ndoc\n"""\ncode']],
])('keys %j typed at a keyboard are the questions %j', async (typed, expected) => {
  const { input, questions, shown } = keyboard();
  const all = collect(questions);
  input.end(typed);
  expect(await all).toEqual(expected);
  expect(shown()).toContain('\x1b[?2004h');
  expect(shown()).toContain('> ');
  expect(shown()).toContain('\x1b[?2004l');
});

it('Ctrl-C at the keyboard is reported, and closing ends the questions', async () => {
  const { input, questions } = keyboard();
  questions.onInterrupt(() => questions.close());
  const all = collect(questions);
  input.write('half a line\x03');
  expect(await all).toEqual([]);
});

it.each([
  [false, 'a\n\n b\nc\n', ['a\n\n b\nc']],
  [false, '\n \n', []],
  [true, 'a\n\n b\nc', ['a', 'b', 'c']],
])('text from a pipe, linewise %j, %j is the questions %j', async (linewise, text, expected) => {
  const input = new PassThrough();
  input.end(text);
  expect(await collect(pipedQuestions(input, { linewise }))).toEqual(expected);
});
