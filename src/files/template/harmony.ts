// Renders conversations in the harmony format of gpt-oss. The template that those checkpoints carry holds one call per message, either reasoning or text
// beside it, and quotes the results of tools; the format itself holds what servers of this interface answer with.
// Source: openai-harmony, whose renderings are the golden.

import { badRequest } from '../error.ts';
import { describeTools, type DescribedTool } from './harmony-tools.ts';
import type { JinjaTemplate } from './jinja/jinja.ts';
import { PROBE_LIMITS } from './jinja/values/meter.ts';
import { prepareMessages, type TemplateMessage, type TemplateTraits } from './template-messages.ts';

export interface HarmonyRendering {
  messages: readonly TemplateMessage[];
  tools?: readonly object[] | null | undefined;
  /** Variables of the published template. */
  kwargs?: Record<string, unknown>;
}

const TRAITS: TemplateTraits = {
  roles: new Set(['system', 'developer', 'user', 'assistant', 'tool']),
  takesText: true,
  takesParts: false,
  argumentsAsText: true,
};

const IDENTITY = 'You are ChatGPT, a large language model trained by OpenAI.';

interface Call {
  id?: string;
  function: { name: string; arguments?: unknown };
}

/** A message whose content is text. */
interface PlainMessage {
  role: string;
  content?: string | null;
  reasoning_content?: string | null;
  name?: string | null;
  tool_calls?: readonly Call[] | null;
  tool_call_id?: string | null;
}

/** The prompt up to the assistant's next header. `now`: the date of the system message. Throws bad_request for a result without its call. */
export function renderHarmony({ messages, tools, kwargs = {} }: HarmonyRendering, now: Date): string {
  const all = prepareMessages(messages, TRAITS) as unknown as PlainMessage[];
  const first = all.findIndex(({ role }) => !isInstruction(role));
  const leading = first < 0 ? all : all.slice(0, first);
  const turns = first < 0 ? [] : all.slice(first);
  const offset = leading.length;
  const functions = (tools ?? []) as readonly DescribedTool[];
  const developer = [
    ...instructions(leading.map(({ content }) => content ?? '').filter((text) => text !== '')),
    ...(functions.length > 0 ? [describeTools(functions)] : []),
  ];
  const lastAnswer = turns.findLastIndex((turn) => turn.role === 'assistant' && !turn.tool_calls?.length);
  const callNames = new Map<string, string>();
  let lastCall: string | null = null;
  const written = turns.map((turn, at) => {
    for (const { id, function: called } of turn.tool_calls ?? []) {
      if (id !== undefined) callNames.set(id, called.name);
      lastCall = called.name;
    }
    switch (turn.role) {
      case 'assistant':
        return assistantTurn(turn, at > lastAnswer);
      case 'tool':
        return toolResult(turn, callNames.get(turn.tool_call_id ?? '') ?? turn.name ?? lastCall, at + offset);
      case 'user':
        return message('user', turn.content ?? '');
      default:
        return message('developer', instructions([turn.content ?? '']).join('\n\n'));
    }
  });
  return [
    message('system', systemText(kwargs, functions.length > 0, now)),
    ...(developer.length > 0 ? [message('developer', developer.join('\n\n'))] : []),
    ...written,
    '<|start|>assistant',
  ].join('');
}

const PROBE = [
  { role: 'user', content: 'a' },
  { role: 'assistant', content: 'b' },
  { role: 'user', content: 'c' },
];

/** Whether a template renders a conversation without tools as the format does: one with an identity or a form of its own is used as it is. */
export function rendersHarmony(template: JinjaTemplate, usual: Record<string, unknown>): boolean {
  const kwargs = { reasoning_effort: 'low' };
  try {
    const variables = { ...usual, ...kwargs, messages: PROBE, add_generation_prompt: true };
    return (
      template.render(variables, { limits: PROBE_LIMITS }) ===
      renderHarmony({ messages: PROBE, kwargs }, new Date())
    );
  } catch {
    return false;
  }
}

const isInstruction = (role: string): boolean => role === 'system' || role === 'developer';

const instructions = (texts: readonly string[]): string[] =>
  texts.length > 0 ? [`# Instructions\n\n${texts.join('\n\n')}`] : [];

function message(header: string, text: string, end = '<|end|>'): string {
  return `<|start|>${header}<|message|>${text}${end}`;
}

function systemText(kwargs: Record<string, unknown>, hasTools: boolean, now: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const date = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  const identity = textKwarg(kwargs, 'model_identity', IDENTITY);
  const effort = textKwarg(kwargs, 'reasoning_effort', 'medium');
  const channels =
    '# Valid channels: analysis, commentary, final. Channel must be included for every message.';
  const calls = hasTools ? "\nCalls to these tools must go to the commentary channel: 'functions'." : '';
  return `${identity}\nKnowledge cutoff: 2024-06\nCurrent date: ${date}\n\nReasoning: ${effort}\n\n${channels}${calls}`;
}

function textKwarg(kwargs: Record<string, unknown>, name: string, missing: string): string {
  const value = kwargs[name] ?? missing;
  if (typeof value === 'string') return value;
  throw badRequest(
    `chat_template_kwargs.${name} is ${JSON.stringify(value)}, and the system message takes a text: send one`,
    `chat_template_kwargs.${name}`,
  );
}

/** `keepsReasoning`: no answer follows; reasoning before an answer is not rendered. Text beside calls is a preamble. */
function assistantTurn(turn: PlainMessage, keepsReasoning: boolean): string {
  const { content, reasoning_content: reasoning, tool_calls: calls } = turn;
  const thought = reasoning && keepsReasoning ? message('assistant<|channel|>analysis', reasoning) : '';
  if (!calls?.length) return thought + message('assistant<|channel|>final', content ?? '');
  const preamble = content ? message('assistant<|channel|>commentary', content) : '';
  const called = calls.map(({ function: { name, arguments: given = '{}' } }) => {
    const text = typeof given === 'string' ? given : JSON.stringify(given);
    return message(`assistant to=functions.${name}<|channel|>commentary json`, text, '<|call|>');
  });
  return thought + preamble + called.join('');
}

function toolResult({ content }: PlainMessage, name: string | null, at: number): string {
  if (name === null) {
    throw badRequest(
      `messages.${at} is the result of a call, and no message before it has calls: send the assistant's message with its tool_calls, too`,
      `messages.${at}`,
    );
  }
  return message(`functions.${name} to=assistant<|channel|>commentary`, content ?? '');
}
