// svc chat: a conversation in the terminal. Answers go to standard output, everything else goes to standard error, so that
// questions can be piped in and answers piped out.

import { existsSync } from 'node:fs';
import type { CommandDef } from 'citty';
import {
  type ChatMessage,
  EngineError,
  MODEL_KINDS,
  shippedModelPath,
  type TextModel,
  type TextRequest,
} from '../../index.ts';
import { SAMPLING } from '../../options/text-request.ts';
import { optionsOf, settingsGiven } from '../options/setting-options.ts';
import { MODEL_OPTIONS } from '../options/arguments.ts';
import { createCommand } from '../options/command.ts';
import { EXIT, UsageError } from '../process/exit.ts';
import type { OptionTable, Values } from '../options/option.ts';
import {
  type Attached,
  checkTakes,
  contentWith,
  MEDIA_OPTIONS,
  readAttached,
  refusedMedium,
  takeMedia,
  underFileName,
} from './chat-media.ts';
import { errorText } from '../process/said.ts';
import { ENGINE_OPTIONS, toModelOptions } from '../options/engine-options.ts';
import { showOpening } from '../process/progress.ts';
import { pipedQuestions, terminalQuestions } from './questions.ts';
import type { OpenTextModel } from '../serve/serve.ts';
import { createLog } from '../process/terminal.ts';

const sampling = optionsOf(SAMPLING);

const CHAT_OPTIONS = {
  system: { kind: 'string', group: 'Conversation', help: 'What the model is told before the first message.' },
  'max-tokens': {
    kind: 'integer',
    min: 1,
    group: 'Conversation',
    help: 'Most tokens of one answer.',
    otherwise: 'the rest of the context',
  },
  ...sampling,
  seed: { ...sampling.seed, help: 'The same seed gives the same answers.' },
  thinking: {
    kind: 'boolean',
    group: 'Conversation',
    help: 'Sets enable_thinking for the chat template.',
    otherwise: "the template's",
  },
  linewise: {
    kind: 'boolean',
    group: 'Conversation',
    help: 'Each line that is piped in is a question or a command; otherwise all of it is one question.',
    otherwise: 'off',
  },
} as const satisfies OptionTable;

const OPTIONS = { ...CHAT_OPTIONS, ...MEDIA_OPTIONS, ...ENGINE_OPTIONS };

type ChatOptions = Values<typeof OPTIONS>;

const HELP =
  '/reset forgets the conversation, /system TEXT starts one with instructions, /exit leaves; //TEXT sends a text that begins with a slash.';

const ASKING = 'pipe a question into svc chat, or type it in the conversation';

export function createChat(open: OpenTextModel): CommandDef {
  return createCommand({
    name: 'chat',
    summary: 'Talk to a model in the terminal.',
    positionals: [
      {
        name: 'model',
        help: 'a folder, a GGUF file, or an id on the hub as owner/name or owner/name:Q4_K_M [the model that ships]',
        required: false,
        elsewhere: MODEL_OPTIONS,
      },
    ],
    options: OPTIONS,
    remedies: { prompt: ASKING, p: ASKING, message: ASKING, question: ASKING },
    notes: `In the conversation: ${HELP} Several lines are one question where they are pasted, or stand between """ and """. Ctrl-C stops an answer, and leaves where there is none.`,
    run: ({ options, positionals: [model] }) => chat(open, modelNamed(model), options),
  });
}

/** The shipped model where none is named. Throws UsageError where a question stands in the place of the model. */
function modelNamed(model: string | undefined): string {
  if (model === undefined) return shippedModelPath();
  if (/\s/.test(model) && !existsSync(model))
    throw new UsageError(`'${model}' is not a folder of a model that is there: ${ASKING}`);
  return model;
}

async function chat(open: OpenTextModel, path: string, options: ChatOptions): Promise<number> {
  const log = createLog();
  const attached = await readAttached(options);
  const progress = showOpening(log);
  const model = await open(toModelOptions(MODEL_KINDS.text, path, options), progress.event).finally(
    progress.end,
  );
  try {
    checkTakes(model.info, attached);
    return await converse(model, options, attached);
  } finally {
    await model.close();
  }
}

async function converse(model: TextModel, options: ChatOptions, given: readonly Attached[]): Promise<number> {
  const { stdin, stderr } = process;
  const isTerminal = stdin.isTTY;
  const linewise = options.linewise ?? false;
  const questions = isTerminal ? terminalQuestions(stdin, stderr) : pipedQuestions(stdin, { linewise });
  let answering: AbortController | null = null;
  let interrupted = false;
  const interrupt = () => {
    if (answering) {
      answering.abort();
      return;
    }
    interrupted = true;
    if (isTerminal) stderr.write('\n');
    questions.close();
  };
  questions.onInterrupt(interrupt);
  process.on('SIGINT', interrupt);

  if (isTerminal) stderr.write(`${model.info.name}. ${HELP}\n`);
  let history = startHistory(options.system);
  /** Media that no answered question had yet. */
  let attached = given;
  let answers = 0;
  let isAsked = false;
  try {
    for await (const text of questions) {
      isAsked = true;
      const command = isTerminal || linewise ? readCommand(text) : { say: text };
      if ('leave' in command) break;
      if ('system' in command) {
        history = startHistory(command.system ?? options.system);
        createLog().info(startedAnew(history));
      } else if ('unknown' in command) {
        createLog().warn(`There is no command ${command.unknown}. ${HELP}`);
      } else {
        answering = new AbortController();
        const said =
          isTerminal || linewise ? await readMedia(command.say, model) : { text: command.say, attached: [] };
        const media = [...attached, ...said.attached];
        confirm(media);
        const content = contentWith(said.text, media);
        const request = toRequest([...history, { role: 'user', content }], options);
        const answer = await stream(model, request, answering.signal).catch((error: unknown) => {
          if (!(error instanceof EngineError)) throw error;
          const mayReset = (isTerminal || linewise) && answers > 0;
          createLog().error(
            `${errorText(underFileName(error, media))}${remedyOf(error, model, { options, mayReset })}`,
          );
          return { refused: refusedMedium(error, media) };
        });
        answering = null;
        if (typeof answer === 'string') {
          answers += 1;
          attached = [];
          history = [...history, { role: 'user', content }, { role: 'assistant', content: answer }];
        } else {
          // A medium that the model refuses is dropped: every later question with it would fail, too.
          attached = attached.filter((_, at) => at !== answer.refused);
        }
      }
    }
  } finally {
    process.off('SIGINT', interrupt);
    questions.close();
  }
  if (interrupted) return EXIT.interrupted;
  if (!isTerminal && !isAsked)
    createLog().error('no question came on standard input: pipe one in, or start svc chat in a terminal');
  return isTerminal || answers > 0 ? EXIT.ok : EXIT.failed;
}

/** Takes media out of a line. A file that cannot be read stays a word of the line. */
async function readMedia(line: string, { info }: TextModel): Promise<{ text: string; attached: Attached[] }> {
  const { notes, ...said } = await takeMedia(line, info);
  for (const note of notes) createLog().warn(note);
  return said;
}

function confirm(media: readonly Attached[]): void {
  if (media.length > 0) createLog().info(`Read ${media.map(({ said }) => said).join(', ')}.`);
}

type Command =
  | { say: string }
  | { leave: true }
  /** Starts a new conversation; null: with the system message of --system. */
  | { system: string | null }
  | { unknown: string };

function readCommand(text: string): Command {
  if (!text.startsWith('/')) return { say: text };
  if (text.startsWith('//')) return { say: text.slice(1) };
  const [, name = '', rest = ''] = /^\/(\S*)\s*([^]*)$/.exec(text) ?? [];
  if (name === 'exit' || name === 'quit') return { leave: true };
  if (name === 'reset') return { system: null };
  if (name === 'system') return { system: rest };
  if (!/^[a-z]*$/i.test(name)) return { say: text }; // names of commands have letters alone: this is a path
  return { unknown: `/${name}` };
}

function startedAnew([first]: ChatMessage[]): string {
  const system = typeof first?.content === 'string' ? ` System message: ${first.content}` : '';
  return `A new conversation begins.${system}`;
}

function startHistory(system: string | undefined): ChatMessage[] {
  return system ? [{ role: 'system', content: system }] : [];
}

/** Returns a remedy that the message of an error does not tell. */
function remedyOf(
  { code }: EngineError,
  { info: { contextLength, modelContextLength } }: TextModel,
  { options, mayReset }: { options: ChatOptions; mayReset: boolean },
): string {
  if (code !== 'context_length_exceeded') return '';
  const isShort = options['context-length'] !== undefined && contextLength < modelContextLength;
  const raise = isShort ? `; --context-length may be up to ${modelContextLength}` : '';
  return `${raise}${mayReset ? '; /reset starts a new conversation' : ''}`;
}

function toRequest(messages: ChatMessage[], options: ChatOptions): TextRequest {
  const { thinking } = options;
  return {
    prompt: { messages, ...(thinking !== undefined && { templateKwargs: { enable_thinking: thinking } }) },
    ...settingsGiven(SAMPLING, options),
    ...(options['max-tokens'] !== undefined && { maxTokens: options['max-tokens'] }),
  };
}

async function stream(model: TextModel, request: TextRequest, signal: AbortSignal): Promise<string> {
  let answer = '';
  let cut: string | null = null;
  for await (const event of model.generate(request, { signal })) {
    if (event.type === 'delta') {
      answer += event.text;
      process.stdout.write(event.text);
    } else if (event.type === 'done') {
      if (event.finishReason === 'length') cut = limitText(request, event.completionTokens);
    }
  }
  process.stdout.write('\n');
  if (cut !== null) process.stderr.write(`(cut off: ${cut})\n`);
  return answer;
}

/** Why an answer of some tokens ended before the model ended it. */
function limitText({ maxTokens = Infinity }: TextRequest, tokens: number): string {
  return tokens < maxTokens ? 'the context is full' : `--max-tokens is ${maxTokens}`;
}
