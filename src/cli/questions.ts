// Reads the questions of svc chat: on a terminal a line each, several where they are pasted or stand between """; from a pipe all of
// it at once, or a line each.

import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

export interface Questions extends AsyncIterable<string> {
  /** Ctrl-C at the keyboard, which a terminal in raw mode keeps from the process. */
  onInterrupt(listener: () => void): void;
  /** No more of them. */
  close(): void;
}

/** Tells a terminal to mark what is pasted, and not to any more. */
const MARK_PASTES = { on: '\x1b[?2004h', off: '\x1b[?2004l' };
const FENCE = '"""';

/** From a terminal that shows prompts on `output`. */
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
  /** A question once it is whole; null while it goes on. */
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

/** From a pipe. */
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

/** `last` is what is left when the input ends. */
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
  // Gathered in the tick in which a line comes: only then is it known to be part of a paste.
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
