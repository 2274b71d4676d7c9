// Renders conversations as Mistral's models know them, for checkpoints that have tekken.json and no template. Each version of the format
// differs from the one before in few places. Source: the instruct tokenizers of mistral-common, whose renderings are the golden. They
// refuse conversations that they were not trained on, as sounds beside a system message before v13; here those are rendered alike.

import { badCheckpoint, badRequest, unsupported } from '../error.ts';
import type { TekkenChat } from '../tokenizer/tekken.ts';
import { fromJson, JsonSource } from './jinja/values/from-json.ts';
import { Meter, RENDER_LIMITS } from './jinja/values/meter.ts';
import { toJson } from './jinja/filters/to-json.ts';
import {
  PARAGRAPH,
  turnsOf,
  type MistralCall,
  type MistralMessage,
  type MistralPart,
  type MistralTurn,
} from './mistral-turns.ts';
import { FORMATS, type MistralVersion } from './mistral-versions.ts';
import { prepareMessages, type TemplateMessage, type TemplateTraits } from './template-messages.ts';
import { withShortIds } from './template-turns.ts';

export interface MistralRendering {
  messages: readonly TemplateMessage[];
  tools?: readonly object[] | null | undefined;
  /** Text that stands for a part of a type other than text, by type. */
  media?: Readonly<Record<string, string>>;
  kwargs?: Record<string, unknown>;
}

const THINKING = ['[THINK]', '[/THINK]'] as const;

const TRAITS: TemplateTraits = {
  roles: new Set(['system', 'user', 'assistant', 'tool']),
  takesText: false,
  takesParts: true,
};

export class MistralFormat {
  /** Marks that replies may hold. */
  readonly marks: string;
  readonly efforts: TekkenChat['efforts'];
  readonly #format: MistralVersion;
  readonly #thinks: boolean;

  /** Throws unsupported for a version that is not known, bad_checkpoint where the tokenizer lacks a token of its version. */
  constructor({ version, specials, efforts }: TekkenChat) {
    const format = FORMATS.get(version);
    if (format === undefined) {
      throw unsupported(
        `tekken.json has version ${version}, and conversations are rendered for ${[...FORMATS.keys()].join(', ')}: put a chat_template.jinja beside the checkpoint's config.json and open it again; from a program, a plain text prompt needs none`,
        'chat_template',
      );
    }
    const missing = format.tokens.split(' ').find((token) => !specials.includes(token));
    if (missing !== undefined) {
      throw badCheckpoint(
        `tekken.json lacks the special token ${missing}, which conversations of its version ${version} have: put the published file in its place`,
        'tekken.json',
      );
    }
    this.#format = format;
    this.#thinks = format.marksThinking && THINKING.every((mark) => specials.includes(mark));
    this.efforts = format.hasSettings ? efforts : null;
    this.marks = `[TOOL_CALLS]${format.calls === 'list' ? '' : '[ARGS]'}${this.#thinks ? THINKING.join('') : ''}`;
  }

  /** The prompt up to the assistant's reply. Throws bad_request for an effort that the model does not take. */
  render({ messages, tools, media = {}, kwargs = {} }: MistralRendering): string {
    const format = this.#format;
    // Before v13 the ids of calls are tokens' texts, nine letters and digits.
    const named = format.calls === 'names' ? messages : withShortIds(messages);
    const prepared = prepareMessages(named, TRAITS, { media }) as unknown as MistralMessage[];
    const all = turnsOf(prepared, format);
    const system = format.marksSystem ? '' : systemText(all);
    const turns = format.marksSystem ? all : withUserFirst(all.filter(({ role }) => role !== 'system'));
    const isUser = ({ role }: MistralTurn): boolean => role === 'user';
    const [first, last] = [turns.findIndex(isUser), turns.findLastIndex(isUser)];
    const told = (tools?.length ? describeTools(tools) : '') + this.#settings(kwargs);
    const write = (turn: MistralTurn, at: number): string => {
      switch (turn.role) {
        case 'user': {
          const before = at === (format.toolsBefore === 'first' ? first : last) ? told : '';
          const opening = at === last && system !== '' ? system + PARAGRAPH : '';
          return `${before}[INST]${opening}${textOf(imageFirst(turn.parts), media)}[/INST]`;
        }
        case 'assistant':
          return `${this.#said(turn)}${this.#called(turn.calls)}</s>`;
        case 'tool':
          return `[TOOL_RESULTS]${this.#result(turn, media)}[/TOOL_RESULTS]`;
        default:
          return `[SYSTEM_PROMPT]${textOf(turn.parts, media)}[/SYSTEM_PROMPT]`;
      }
    };
    return `<s>${turns.map(write).join('')}`;
  }

  /** Spaces behind an answer without reasoning are not part of it. */
  #said({ parts }: MistralTurn): string {
    const shown = parts.filter(({ type }) => this.#thinks || type !== 'thinking');
    const thinks = shown.some(({ type }) => type === 'thinking');
    const text = textOf(shown, {});
    return thinks ? text : text.replace(/ +$/, '');
  }

  #called(calls: readonly MistralCall[]): string {
    if (calls.length === 0) return '';
    const format = this.#format.calls;
    const read = calls.map(({ id, function: { name, arguments: given = '{}' } }) => {
      return { name, arguments: asJson(given), ...(id !== undefined && { id }) };
    });
    if (format === 'list') return `[TOOL_CALLS]${pythonJson(read)}`;
    const written = read.map(({ name, id, arguments: given }) => {
      const named = format === 'ids' && id !== undefined ? `${name}[CALL_ID]${id}` : name;
      return `[TOOL_CALLS]${named}[ARGS]${pythonJson(given)}`;
    });
    return written.join('');
  }

  #result({ parts, callId }: MistralTurn, media: Readonly<Record<string, string>>): string {
    const text = textOf(parts, media);
    const { results } = this.#format;
    if (results === 'json') return pythonJson({ content: asJson(text || '{}'), call_id: callId });
    return results === 'ids' ? `${callId}[TOOL_CONTENT]${text}` : text;
  }

  #settings({ reasoning_effort: asked = null }: Record<string, unknown>): string {
    if (this.efforts === null) return '';
    const { values, usual } = this.efforts;
    const effort = asked ?? usual;
    if (effort === null) return '';
    if (!values.includes(effort as string)) {
      throw badRequest(
        `chat_template_kwargs.reasoning_effort is ${JSON.stringify(effort)}, and this model takes ${values.join(', ')}: send one of these`,
        'chat_template_kwargs.reasoning_effort',
      );
    }
    return `[MODEL_SETTINGS]${pythonJson({ reasoning_effort: effort })}[/MODEL_SETTINGS]`;
  }
}

function systemText(turns: readonly MistralTurn[]): string {
  const texts = turns.filter(({ role }) => role === 'system').map(({ parts }) => textOf(parts, {}));
  return texts.filter((text) => text !== '').join(PARAGRAPH);
}

/** A conversation begins with the user. */
function withUserFirst(turns: readonly MistralTurn[]): readonly MistralTurn[] {
  if (turns[0]?.role === 'user') return turns;
  return [{ role: 'user', parts: [], calls: [], callId: '' }, ...turns];
}

/** An image behind nothing but text comes before it. */
function imageFirst(parts: readonly MistralPart[]): readonly MistralPart[] {
  const [last, before] = [parts.at(-1), parts.slice(0, -1)];
  const moves = last?.type === 'image' && before.every(({ type }) => type === 'text');
  return moves ? [last, ...before] : parts;
}

function textOf(parts: readonly MistralPart[], media: Readonly<Record<string, string>>): string {
  const texts = parts.map(({ type, text = '' }) => {
    if (type === 'thinking') return `${THINKING[0]}${text}${THINKING[1]}`;
    return type === 'text' ? text : (media[type] ?? '');
  });
  return texts.join('');
}

function describeTools(tools: readonly object[]): string {
  const described = tools.map((tool) => {
    const { name, description, parameters } = (tool as { function: Record<string, unknown> }).function;
    const shown = { name, description: description ?? '', parameters: parameters ?? {} };
    return { type: 'function', function: shown };
  });
  return `[AVAILABLE_TOOLS]${pythonJson(described)}[/AVAILABLE_TOOLS]`;
}

/** Text that is JSON as its value, other text as it is. */
function asJson(given: string | JsonSource): string | JsonSource {
  if (given instanceof JsonSource) return given;
  try {
    JSON.parse(given);
    return new JsonSource(given);
  } catch {
    return given;
  }
}

/** Returns a value as JSON in the form that Python's json.dumps writes. */
function pythonJson(value: unknown): string {
  const meter = new Meter('of tekken.json', RENDER_LIMITS);
  const style = { ascii: false, indent: null, separators: null, sort: false };
  return toJson(fromJson(value, meter), style, meter);
}
