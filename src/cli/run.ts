// Finds and runs a command, and turns its errors into one line and an exit code.

import { type CommandDef, runCommand } from 'citty';
import { EngineError } from '../files/error.ts';
import { errorText } from './process/said.ts';
import { nearestName } from '../options/nearest-name.ts';
import { asksForHelp, columns } from './options/command.ts';
import { EXIT, exitCodeOf, UsageError } from './process/exit.ts';
import { packageVersion } from './process/package.ts';
import { createLog, endsWithReader, writeLine } from './process/terminal.ts';

interface CommandEntry {
  summary: string;
  /** Names of such a command in other programs: a user who types one is told this one. */
  elsewhere?: readonly string[];
  /** Loads the command's modules; the list of commands and errors in command names do not load the engine. */
  load: () => Promise<CommandDef>;
}

export type Commands = Record<string, CommandEntry>;

/** Milliseconds after which the process ends although timers or handles of a command remain. */
const LINGER = 1000;

/** Sets the process's exit code and lets it end. */
export async function run(args: string[], commands: Commands): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // EPIPE is not an error: a reader such as `head` closes the pipe early.
    if (error.code !== 'EPIPE') process.exit(EXIT.failed);
    if (endsWithReader()) process.exit(EXIT.ok);
  });
  await runLine(args, commands);
  setTimeout(() => process.exit(), LINGER).unref();
}

/** Runs a command to its end, prints its error, and sets the process's exit code. */
export async function runLine(args: string[], commands: Commands): Promise<void> {
  await dispatch(args, commands).catch((error: unknown) => report(error, args[0], commands));
}

async function dispatch([name, ...args]: string[], commands: Commands): Promise<void> {
  if (name === 'help' && args[0] !== undefined) return dispatch([args[0], '--help'], commands);
  if (name === undefined || name === 'help' || asksForHelp([name])) {
    writeLine(generalHelp(commands));
    process.exitCode = name === undefined ? EXIT.usage : EXIT.ok;
  } else if (name === '--version' || name === '-V') {
    writeLine(packageVersion());
  } else {
    const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (!entry) {
      const known = Object.keys(commands).find((one) => commands[one]?.elsewhere?.includes(name));
      const near = known ?? nearestName(name, Object.keys(commands));
      throw new UsageError(`there is no command "${name}"${near === null ? '' : `; did you mean ${near}?`}`);
    }
    await runCommand(await entry.load(), { rawArgs: args });
  }
}

function generalHelp(commands: Commands): string {
  const rows = Object.entries(commands).map(([name, { summary }]): [string, string] => [name, summary]);
  return [
    'Local AI on any GPU: language and diffusion models computed by WGSL shaders.',
    'Usage: svc <command> [options]      (installed in a folder: npx svc-engine <command>)',
    `Commands\n${columns(rows, 10)}`,
    '`svc <command> --help` lists the options of a command.',
    'Exit codes: 0 done, 1 failed, 2 wrong usage, 3 model not found, out of reach or refused, 4 out of memory, 130 interrupted.',
  ].join('\n\n');
}

function report(error: unknown, name: string | undefined, commands: Commands): void {
  process.exitCode = exitCodeOf(error);
  const log = createLog();
  const command = name !== undefined && Object.hasOwn(commands, name) ? `${name} ` : '';
  if (error instanceof UsageError) log.error(`${error.message}\nSee \`npx svc-engine ${command}--help\`.`);
  else if (error instanceof EngineError && error.code === 'cancelled') return;
  else log.error(error instanceof EngineError && error.code !== 'internal' ? errorText(error) : error);
}
