// The tools that a reply calls: offered to the model, confirmed by the user, asked at their server, their results kept with the call.

import { signal } from '@preact/signals';
import { connectAll, connectedTools, type FoundTool, setAlways } from '../mcp/tool-servers.ts';
import { type Conversation, type Message, pathTo, type ToolCall } from './conversation.ts';
import type { OfferedTool } from './request.ts';
import { changedNow, save } from './state.ts';

/** Replies with calls in a row after which the loop ends. */
const MOST_ROUNDS = 10;

type Answer = 'once' | 'always' | 'refused' | 'stopped';

/** Calls that wait for the user's answer, by the id of the message and the call. */
export const questions = signal<ReadonlyMap<string, (answer: Answer) => void>>(new Map());

/** What ends the call that runs, by the id of its message. */
const calling = new Map<string, AbortController>();

export const questionKey = (message: Message, call: ToolCall): string => `${message.id} ${call.id}`;

export async function offeredTools(): Promise<OfferedTool[]> {
  await connectAll();
  return [...connectedTools().values()].map(({ tool: { name, description, inputSchema } }) => {
    const described = description !== undefined && { description };
    return { type: 'function', function: { name, ...described, parameters: inputSchema } };
  });
}

/** Whether a tool server has a tool of a call that has no result yet. */
export const canAnswer = ({ calls = [] }: Message): boolean =>
  calls.some(({ name, result }) => result === undefined && connectedTools().has(name));

/** Calls what a reply asks for, once the user has agreed. Returns false if the reply calls nothing, or nothing was called. */
export async function answerCalls(conversation: Conversation, message: Message): Promise<boolean> {
  const { calls = [], finish } = message;
  if (calls.length === 0 || finish !== 'tool_calls') return false;
  await connectAll();
  if (!canAnswer(message)) return false;
  if (roundsOf(conversation, message) > MOST_ROUNDS) {
    const text = `The model has called tools ${MOST_ROUNDS} times in a row; write a message to let it go on.`;
    message.error = { message: text, code: 'too_many_calls' };
    await save(conversation);
    return false;
  }
  for (const call of calls.filter(({ result }) => result === undefined)) {
    const answer = await answerCall(message, call, connectedTools().get(call.name));
    if (answer === 'stopped') return false;
    await save(conversation);
  }
  return true;
}

/** Stops the call of a message that runs, or what waits for an answer at it. Returns whether there was either. */
export function stopQuestions(message: Message): boolean {
  const waiting = (message.calls ?? []).map((call) => questions.value.get(questionKey(message, call)));
  for (const answer of waiting) answer?.('stopped');
  const running = calling.get(message.id);
  running?.abort();
  return running !== undefined || waiting.some((answer) => answer !== undefined);
}

async function answerCall(message: Message, call: ToolCall, found: FoundTool | undefined): Promise<Answer> {
  if (!found) {
    call.result = `There is no tool ${call.name}.`;
    return 'refused';
  }
  const { server, tool } = found;
  const answer = server.always.includes(tool.name) ? 'once' : await ask(message, call);
  if (answer === 'stopped') return answer;
  if (answer === 'always') setAlways(server.url, tool.name, true);
  const isStopped = answer !== 'refused' && !(await run(message, call, found));
  if (answer === 'refused') call.result = 'The user refused this call.';
  changedNow();
  return isStopped ? 'stopped' : answer;
}

/** Calls a tool and keeps its result. Returns false if the user has stopped it: it has no result then. */
async function run(message: Message, call: ToolCall, { client, tool }: FoundTool): Promise<boolean> {
  const abort = new AbortController();
  calling.set(message.id, abort);
  call.state = 'running';
  changedNow();
  try {
    const given = JSON.parse(call.arguments || '{}') as object;
    const { text, isError } = await client.call(tool.name, given, abort.signal);
    call.result = isError ? `The tool failed: ${text}` : text;
  } catch (error) {
    if (abort.signal.aborted) return false;
    call.result = `The call failed: ${(error as Error).message}`;
  } finally {
    delete call.state;
    calling.delete(message.id);
  }
  return true;
}

function ask(message: Message, call: ToolCall): Promise<Answer> {
  const key = questionKey(message, call);
  return new Promise((resolve) => {
    questions.value = new Map(questions.value).set(key, (answer) => {
      const others = new Map(questions.value);
      others.delete(key);
      questions.value = others;
      resolve(answer);
    });
  });
}

/** Replies with calls since the last message of the user. */
function roundsOf(conversation: Conversation, message: Message): number {
  const path = pathTo(conversation, message.id);
  return path.length - 1 - path.findLastIndex(({ role }) => role === 'user');
}
