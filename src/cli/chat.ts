// svc chat: a conversation in the terminal. Answers go to standard output, everything else to standard error, so that
// questions can be piped in and answers piped out.

import { createInterface, type Interface } from 'node:readline';
import type { CommandDef } from 'citty';
import {
  type ChatMessage,
  EngineError,
  shippedModelPath,
  type TextModel,
  type TextRequest,
} from '../index.ts';
import { createCommand } from './command.ts';
import { EXIT } from './exit.ts';
import type { OptionTable, Values } from './option.ts';
import { ENGINE_OPTIONS, toModelOptions } from './options.ts';
import { showOpening } from './progress.ts';
import type { OpenTextModel } from './serve.ts';
import { createLog } from './terminal.ts';

const CHAT_OPTIONS = {
  system: { kind: 'string', group: 'Conversation', help: 'What the model is told before the first message.' },
  'max-tokens': {
    kind: 'integer',
    min: 1,
    group: 'Conversation',
    help: 'Most tokens of one answer.',
    otherwise: 'the rest of the context',
  },
  temperature: {
    kind: 'number',
    min: 0,
    max: 2,
    group: 'Conversation',
    help: 'Higher is more random; 0 is greedy.',
    otherwise: "the model's",
  },
  seed: {
    kind: 'integer',
    group: 'Conversation',
    help: 'The same seed gives the same answers.',
    otherwise: 'random',
  },
  thinking: {
    kind: 'boolean',
    group: 'Conversation',
    help: 'Sets enable_thinking for the chat template.',
    otherwise: "the template's",
  },
} as const satisfies OptionTable;

const OPTIONS = { ...CHAT_OPTIONS, ...ENGINE_OPTIONS };

type ChatOptions = Values<typeof OPTIONS>;

const HELP = '/reset forgets the conversation, /system TEXT starts one with instructions, /exit leaves.';

export function createChat(open: OpenTextModel): CommandDef {
  return createCommand({
    name: 'chat',
    summary: 'Talk to a model in the terminal.',
    positionals: [
      { name: 'model', help: 'a folder, or an id on the hub [the model that ships]', required: false },
    ],
    options: OPTIONS,
    notes: `In the conversation: ${HELP} Ctrl-C stops an answer, and leaves where there is none.`,
    run: ({ options, positionals: [model] }) => chat(open, model ?? shippedModelPath(), options),
  });
}

async function chat(open: OpenTextModel, path: string, options: ChatOptions): Promise<number> {
  const log = createLog();
  const progress = showOpening(log);
  const model = await open(
    { ...toModelOptions(path, options), maxRunningRequests: 1 },
    progress.event,
  ).finally(progress.end);
  try {
    return await converse(model, options);
  } finally {
    await model.close();
  }
}

async function converse(model: TextModel, options: ChatOptions): Promise<number> {
  const log = createLog();
  const { isTTY: isTerminal } = process.stdin;
  const lines = createInterface({
    input: process.stdin,
    ...(isTerminal && { output: process.stderr, prompt: '> ' }),
  });
  let answering: AbortController | null = null;
  let interrupted = false;
  const interrupt = () => {
    if (answering) {
      answering.abort();
      return;
    }
    interrupted = true;
    if (isTerminal) process.stderr.write('\n');
    lines.close();
  };
  lines.on('SIGINT', interrupt);
  process.on('SIGINT', interrupt);

  if (isTerminal) process.stderr.write(`${model.info.name}. ${HELP}\n`);
  let history = startHistory(options.system);
  try {
    for await (const line of prompted(lines, isTerminal)) {
      const text = line.trim();
      const [command = '', ...rest] = text.split(' ');
      if (text === '') continue;
      if (command === '/exit' || command === '/quit') break;
      if (command === '/reset') history = startHistory(options.system);
      else if (command === '/system') history = startHistory(rest.join(' '));
      else if (command.startsWith('/')) log.info(HELP);
      else {
        answering = new AbortController();
        history = await exchange(model, history, text, options, answering.signal);
        answering = null;
      }
    }
  } finally {
    process.off('SIGINT', interrupt);
    lines.close();
  }
  return interrupted ? EXIT.interrupted : EXIT.ok;
}

async function* prompted(lines: Interface, isTerminal: boolean): AsyncGenerator<string> {
  if (isTerminal) lines.prompt();
  for await (const line of lines) {
    yield line;
    if (isTerminal) lines.prompt();
  }
}

function startHistory(system: string | undefined): ChatMessage[] {
  return system ? [{ role: 'system', content: system }] : [];
}

/** One question and its answer; a question that failed is not remembered. */
async function exchange(
  model: TextModel,
  history: ChatMessage[],
  text: string,
  options: ChatOptions,
  signal: AbortSignal,
): Promise<ChatMessage[]> {
  const messages: ChatMessage[] = [...history, { role: 'user', content: text }];
  try {
    const answer = await stream(model, toRequest(messages, options), signal);
    return [...messages, { role: 'assistant', content: answer }];
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const remedy = error.code === 'context_length_exceeded' ? '; /reset starts anew' : '';
    createLog().error(`${error.message}${remedy}`);
    return history;
  }
}

function toRequest(messages: ChatMessage[], options: ChatOptions): TextRequest {
  const { temperature, seed, thinking } = options;
  return {
    prompt: { messages, ...(thinking !== undefined && { templateKwargs: { enable_thinking: thinking } }) },
    ...(temperature !== undefined && { temperature }),
    ...(seed !== undefined && { seed }),
    ...(options['max-tokens'] !== undefined && { maxTokens: options['max-tokens'] }),
  };
}

async function stream(model: TextModel, request: TextRequest, signal: AbortSignal): Promise<string> {
  let answer = '';
  let finish = '';
  for await (const event of model.generate(request, { signal })) {
    if (event.type === 'delta') {
      answer += event.text;
      process.stdout.write(event.text);
    } else if (event.type === 'done') {
      finish = event.finishReason;
    }
  }
  process.stdout.write('\n');
  if (process.stdin.isTTY && finish === 'length') process.stderr.write('(cut off: no tokens left)\n');
  return answer;
}
