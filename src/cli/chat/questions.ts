// Reads the questions of svc chat. On a terminal each line is a question, except for pasted lines and text between """; from a pipe
// the whole input is one question, or each line is one.

import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

export interface Questions extends AsyncIterable<string> {
  /** Called for Ctrl-C at the keyboard, for which a terminal in raw mode sends the process no signal. */
  onInterrupt(listener: () => void): void;
  /** Ends the iteration and drops questions that were not read. */
  close(): void;
}

/** Escape sequences that turn the bracketed paste mode of a terminal on and off. */
const MARK_PASTES = { on: '\x1b[?2004h', off: '\x1b[?2004l' };
const FENCE = '"""';

/** Reads questions from a terminal and shows prompts on `output`. */
export function terminalQuestions(input: Readable, output: Writable): Questions {
  const lines = createInterface({ input, output, terminal: true, prompt: '> ' });
  let isPasting = false;
  input.on('keypress', (_: unknown, key?: { name?: string }) => {
    if (key?.name === 'paste-start') isPasting = true;
    if (key?.name === 'paste-end') isPasting = false;
  });
  output.write(MARK_PASTES.on);
  lines.once('close', () => output.write(MARK_PASTES.off));

  let held: string[] = [];
  let isFenced = false;
  /** Adds a line; returns the question once it is complete, else null. */
  const gather = (line: string): string | null => {
    const opens = held.length === 0 && !isPasting && line.trimStart().startsWith(FENCE);
    const text = opens ? line.trimStart().slice(FENCE.length) : line;
    const closes = (opens || isFenced) && text.trimEnd().endsWith(FENCE);
    isFenced = (opens || isFenced) && !closes;
    held.push(closes ? text.trimEnd().slice(0, -FENCE.length) : text);
    if (isFenced || isPasting) return null;
    const question = held.join('\n');
    held = [];
    return question;
  };
  return questionsFrom(lines, gather, () => lines.prompt());
}

/** Questions from a pipe: each line if `linewise`, else the whole input. */
export function pipedQuestions(input: Readable, { linewise }: { linewise: boolean }): Questions {
  const lines = createInterface({ input });
  if (linewise)
    return questionsFrom(
      lines,
      (line) => line,
      () => {},
    );
  const all: string[] = [];
  const gather = (line: string): null => {
    all.push(line);
    return null;
  };
  return questionsFrom(
    lines,
    gather,
    () => {},
    () => all.join('\n'),
  );
}

/** Iterates over questions; `last` returns the remaining text when the input ends. */
function questionsFrom(
  lines: Interface,
  gather: (line: string) => string | null,
  ask: () => void,
  last: () => string = () => '',
): Questions {
  const waiting: string[] = [];
  let isClosed = false;
  let isCut = false;
  let wake = (): void => {};
  // Lines are collected in the tick in which they arrive, because only then is it known whether they were pasted.
  lines.on('line', (line) => {
    const question = gather(line);
    if (question !== null) waiting.push(question);
    wake();
  });
  lines.once('close', () => {
    isClosed = true;
    if (!isCut) waiting.push(last());
    wake();
  });
  return {
    onInterrupt: (listener) => void lines.on('SIGINT', listener),
    close() {
      isCut = true;
      waiting.length = 0;
      lines.close();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const question = waiting.shift();
        if (question !== undefined) {
          if (question.trim() !== '') yield question.trim();
        } else if (isClosed) {
          return;
        } else {
          ask();
          await new Promise<void>((resolve) => (wake = resolve));
        }
      }
    },
  };
}
