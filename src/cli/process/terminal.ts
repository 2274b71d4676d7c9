// Output of commands: log lines and a progress bar share standard error, and standard output carries data only.

import { isatty } from 'node:tty';
import { type ConsolaInstance, createConsola, LogLevels } from 'consola';

export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;

type LogLevel = (typeof LOG_LEVELS)[number];

/** Text of the bar on the terminal's last line; log lines are printed above it. */
let bar = '';

const stderr: NodeJS.WriteStream = Object.create(process.stderr, {
  write: {
    value: (text: string) => process.stderr.write(bar === '' ? text : `\r\x1b[2K${text}${bar}`),
  },
});

export function createLog(level: LogLevel = 'info'): ConsolaInstance {
  return createConsola({
    level: level === 'silent' ? LogLevels.silent : LogLevels[level],
    stdout: stderr,
    stderr,
    throttle: 0,
    fancy: isatty(2),
  });
}

/** Replaces the bar; an empty text removes it. Does nothing if standard error is not a terminal. */
export function setBar(text: string): void {
  if (!process.stderr.isTTY) return;
  // Some terminals report no width, or 0.
  const shown = text.slice(0, (process.stderr.columns || 80) - 1);
  if (shown === bar) return;
  bar = shown;
  process.stderr.write(`\r\x1b[2K${bar}`);
}

let outlives = false;

/** Whether the command ends when the reader of standard output closes the pipe. */
export const endsWithReader = (): boolean => !outlives;

/**
 * Lets the command continue when the reader of standard output has closed the pipe, because printing is not the command's purpose.
 */
export function outliveReader(): void {
  outlives = true;
}

export function writeLine(text = ''): void {
  process.stdout.write(`${text}\n`);
}
