// The shapes of conversations, tools, reasoning and logit processors, under the names that programs and OpenAI's interface share.

import { LIMITS } from './limits.ts';
import { orNull, type Shape } from './shape.ts';

const TEXT = { type: 'text', isEmpty: true } as const;
const FILLED = { type: 'text' } as const;
const FLAG = { type: 'boolean' } as const;
const COUNT = { type: 'integer', min: 0 } as const;
const MEMBERS = { type: 'record', of: { type: 'anything' } } as const;
const FUNCTION_TYPE = { type: 'choice', choices: ['function'] } as const;

export const ROLES = ['system', 'user', 'assistant', 'tool', 'function', 'developer'] as const;

/** `arguments` is a JSON object as text, or the object itself; any other text is passed to the template unchanged. */
export const CALLED_FUNCTION = {
  type: 'object',
  members: { name: FILLED, arguments: { type: 'either', of: [TEXT, MEMBERS] } },
  required: ['name', 'arguments'],
  isOpen: true,
} as const satisfies Shape;

export const TOOL_CALL = {
  type: 'object',
  members: { id: TEXT, type: FUNCTION_TYPE, function: CALLED_FUNCTION },
  required: ['function'],
  isOpen: true,
} as const satisfies Shape;

/** A message without its content, whose parts are media in a program and addresses in a request. */
export const MESSAGE = {
  type: 'object',
  members: {
    role: { type: 'choice', choices: ROLES },
    name: orNull(TEXT),
    reasoning_content: orNull(TEXT),
    tool_calls: orNull({ type: 'list', of: TOOL_CALL }),
    tool_call_id: orNull(TEXT),
  },
  required: ['role'],
  isOpen: true,
} as const satisfies Shape;

/** A function that a model may call; `parameters` is a JSON Schema. */
export const FUNCTION = {
  type: 'object',
  members: { name: FILLED, description: TEXT, parameters: MEMBERS, strict: FLAG },
  required: ['name'],
  isOpen: true,
} as const satisfies Shape;

export const TOOL = {
  type: 'object',
  members: { type: FUNCTION_TYPE, function: FUNCTION },
  required: ['type', 'function'],
} as const satisfies Shape;

export const TOOL_CHOICES = ['auto', 'none', 'required'] as const;
/** Whether one of the allowed tools may or must be called. */
export const TOOL_MODES = ['auto', 'required'] as const;

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

export const REASONING = {
  type: 'object',
  members: {
    /** false: reasoning stays in the text, tags included. Left out: true. */
    separate: FLAG,
    /** false: reasoning comes in one piece when it is over. Left out: true. */
    stream: FLAG,
    effort: { type: 'choice', choices: EFFORTS },
    /** Maximum number of reasoning tokens; the engine then writes the end of the reasoning. */
    budget: COUNT,
  },
  required: [],
} as const satisfies Shape;

const TOKENS = { type: 'list', of: { type: 'tokenId' } } as const;
const form = <const Members extends Readonly<Record<string, Shape>>, const Name extends keyof Members>(
  members: Members,
  ...required: Name[]
) => ({ type: 'object', members, required }) as const;

/** A change of the logits, applied after `logitBias`. */
export const PROCESSOR = {
  type: 'tagged',
  by: 'name',
  forms: {
    allowed_tokens: form({ tokens: { ...TOKENS, least: 1 } }, 'tokens'),
    disallowed_tokens: form({ tokens: TOKENS }, 'tokens'),
    /** Closes the reasoning after `tokens` tokens. */
    thinking_budget: form({ tokens: COUNT }, 'tokens'),
    /** No run of `size` tokens occurs twice; runs are looked for in the last `window` tokens. */
    no_repeat_ngram: form(
      { size: { type: 'integer', min: 1, max: 1000 }, window: { type: 'integer', min: 1 } },
      'size',
    ),
    /** The generated text contains none of `words`, wherever they begin and however tokens spell them. */
    bad_words: form({ words: { type: 'list', of: FILLED, most: LIMITS.bannedWords } }, 'words'),
    /** `fn process(token: u32, logit: f32, position: u32, count: u32) -> f32`: needs the option customLogitProcessors. */
    wgsl: form({ source: FILLED }, 'source'),
  },
} as const satisfies Shape;
