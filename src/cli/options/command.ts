// Creates a citty command from a table of options: strict reading of arguments, and help in groups with defaults.

import { type CommandDef, defineCommand } from 'citty';
import { type Arguments, type Positional, readArguments } from './arguments.ts';
import { type Option, type OptionTable, valueText } from './option.ts';

interface CommandSpec<T extends OptionTable> {
  name: string;
  /** Summary in one line, for the list of commands. */
  summary: string;
  /** Forms of the command line after the command's name; default: the positionals and [options]. */
  usage?: readonly string[];
  positionals?: Positional[];
  options: T;
  /** Advice for options that other programs have and this command has not, by option name. */
  remedies?: Readonly<Record<string, string>>;
  /** More help, below the options. */
  notes?: string;
  /** Returns the exit code if it is not 0. */
  run(given: Arguments<T>): Promise<number | void>;
  /** Called with the error of arguments that cannot be read, before it is thrown. */
  unread?(error: unknown, rawArgs: readonly string[]): void;
}

export function createCommand<const T extends OptionTable>(spec: CommandSpec<T>): CommandDef {
  return defineCommand({
    meta: { name: spec.name, description: spec.summary },
    async run({ rawArgs }) {
      if (asksForHelp(rawArgs)) {
        process.stdout.write(commandHelp(spec));
        return;
      }
      let given: Arguments<T>;
      try {
        given = readArguments(rawArgs, spec.options, spec.positionals ?? [], spec.remedies);
      } catch (error) {
        spec.unread?.(error, rawArgs);
        throw error;
      }
      process.exitCode = (await spec.run(given)) ?? 0;
    },
  });
}

export function asksForHelp(args: string[]): boolean {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).some((arg) => arg === '--help' || arg === '-h');
}

function commandHelp<T extends OptionTable>({
  name,
  summary,
  usage,
  positionals = [],
  options,
  notes,
}: CommandSpec<T>): string {
  const places = positionals.map((p) => (p.required ? `<${p.name}>` : `[${p.name}]`));
  const ways = (usage ?? [[...places, '[options]'].join(' ')]).map((way) => `svc ${name} ${way}`);
  const sections = new Map<string, [string, string][]>();
  if (positionals.length)
    sections.set(
      'Arguments',
      positionals.map(({ name, help }) => [name, help]),
    );
  for (const [option, description] of Object.entries(options)) {
    const rows = sections.get(description.group) ?? [];
    sections.set(description.group, [...rows, [flagText(option, description), helpText(description)]]);
  }
  const longest = Math.max(...[...sections.values()].flat().map(([flag]) => flag.length));
  const body = [...sections].map(([title, rows]) => `${title}\n${columns(rows, longest)}`);
  return `${[`${summary}\n\nUsage: ${ways.join('\n       ')}`, ...body, ...(notes ? [notes] : [])].join('\n\n')}\n`;
}

function flagText(name: string, option: Option): string {
  const short = option.alias ? `-${option.alias}, ` : '';
  return `${short}--${name} ${valueText(option)}`.trimEnd();
}

function helpText(option: Option): string {
  const fallback = 'default' in option ? String(option.default) : option.otherwise;
  return fallback === undefined ? option.help : `${option.help} [${fallback}]`;
}

/** Two columns, the first up to `longest` wide; the second is wrapped at the width of the terminal. */
export function columns(rows: [string, string][], longest: number): string {
  const left = Math.min(34, longest + 2);
  const width = Math.max(40, Math.min(process.stdout.columns || 100, 120) - left - 3);
  const indent = `\n${' '.repeat(left + 2)}`;
  return rows
    .map(([first, second]) => {
      const head = first.length < left ? `  ${first.padEnd(left)}` : `  ${first}${indent}`;
      return head + wrap(second, width).join(indent);
    })
    .join('\n');
}

function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + word.length >= width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
