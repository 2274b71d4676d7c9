// The fields of Anthropic's Messages interface.

import { z } from 'zod';
import { LIMITS } from '../../index.ts';
import { filled, list, MOST_TOOLS, MOST_TURNS, record, silent } from '../body/bounded.ts';
import { type FieldTable, type HonouredBody, honoured, neutralOnly, noEffect } from '../body/fields.ts';
import { SAMPLING } from '../../options/text-request.ts';
import { fieldsOf, membersOf } from '../body/setting-fields.ts';
import { FUNCTION } from '../../options/conversation.ts';
import { CONSTRAINT_NAMES, MODEL_FIELD } from '../text/generation-fields.ts';
import { typedObject } from '../body/unknown-members.ts';

const FOREIGN_BLOCKS = new Set(['document', 'search_result', 'container_upload']);

/** Schema of content blocks of the given types. */
function blocks(members: Readonly<Record<string, z.ZodObject>>) {
  return typedObject(members, {
    placeOf,
    refusal: (type, types) => ({
      code: 'unsupported',
      ...(FOREIGN_BLOCKS.has(type)
        ? { message: 'is not read here; send text or images', path: [type] }
        : { message: `must be one of ${types.join(', ')}, got ${JSON.stringify(type)}` }),
    }),
  });
}

/**
 * Path of an issue that includes the types of its blocks, as in Anthropic's errors: Claude Code finds a refused image by it and
 * retries without the image.
 */
function placeOf({ code, path }: z.core.$ZodIssue, type: string): PropertyKey[] {
  return code === 'custom' && type === 'tool_result' ? [type, ...path] : path;
}

// Silent members have no effect: the prefix cache finds prompts by content, and thinking blocks have no signature here.

const textBlock = z.looseObject({ text: z.string(), cache_control: silent, citations: silent });
const textBlocks = blocks({ text: textBlock });
/** A tool that the client's tool search has found among `tools`. All of `tools` are in the prompt in any case. */
const toolReference = z.looseObject({ tool_name: z.string(), cache_control: silent });
const base64Source = z.looseObject({ type: z.literal('base64'), data: z.string(), media_type: silent });
const urlSource = z.looseObject({ type: z.literal('url'), url: filled });
const imageBlock = z.looseObject({
  source: z.discriminatedUnion('type', [base64Source, urlSource]),
  cache_control: silent,
});
const resultBlocks = blocks({ text: textBlock, image: imageBlock, tool_reference: toolReference });

export const MEMBERS = {
  text: textBlock,
  image: imageBlock,
  thinking: z.looseObject({ thinking: z.string(), signature: silent }),
  redacted_thinking: z.looseObject({ data: silent }),
  // Tools that are added or removed during a conversation have no effect, because `tools` lists the current ones.
  tool_addition: z.looseObject({ tool: silent, cache_control: silent }),
  tool_removal: z.looseObject({ tool: silent, cache_control: silent }),
  tool_use: z.looseObject({
    id: filled,
    name: filled,
    input: record(z.unknown()),
    cache_control: silent,
  }),
  tool_result: z.looseObject({
    tool_use_id: filled,
    content: z.union([z.string(), list(resultBlocks, MOST_TURNS)]).nullish(),
    is_error: z.boolean().nullish(),
    cache_control: silent,
  }),
};

const message = z.looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), list(blocks(MEMBERS), MOST_TURNS)]),
});

const { name, description, strict } = membersOf(FUNCTION);

const tool = z.looseObject({
  type: z
    .string()
    .refine((type) => type === 'custom', {
      error: 'must be "custom", as this server runs no tools of its own',
      params: { code: 'unsupported' },
    })
    .nullish(),
  name,
  description,
  input_schema: record(z.unknown()),
  strict,
  cache_control: silent,
});

const choice = z.looseObject({
  type: z.enum(['auto', 'any', 'tool', 'none']),
  name: filled.nullish(),
  disable_parallel_tool_use: z.boolean().nullish(),
});

const thinking = z.looseObject({
  type: z.enum(['enabled', 'disabled', 'adaptive']),
  budget_tokens: z.int().min(1).nullish(),
});

const format = z.looseObject({ type: z.literal('json_schema'), schema: record(z.unknown()) });

const PROMPT_FIELDS = {
  model: MODEL_FIELD,
  messages: honoured(
    list(message, MOST_TURNS).min(1),
    "The conversation; where the assistant's message is last, the reply goes on with it.",
  ),
  system: honoured(z.union([z.string(), list(textBlocks, MOST_TURNS)]), 'A system message before it.'),
  tools: honoured(
    list(tool, MOST_TOOLS),
    'Functions the model may call; their arguments keep to input_schema, exactly if `strict` is true, not if it is false.',
  ),
  tool_choice: honoured(choice, 'auto, any, tool or none; disable_parallel_tool_use: one call at most.', {
    type: 'auto',
  }),
  thinking: honoured(
    thinking,
    'enabled with budget_tokens, disabled, or adaptive, which is up to the model.',
  ),
} satisfies FieldTable;

export const MESSAGE_FIELDS = {
  ...PROMPT_FIELDS,
  max_tokens: honoured(z.int().min(1), 'Most tokens to generate; clamped to what the context leaves.'),
  stop_sequences: honoured(list(filled, LIMITS.stops), `Up to ${LIMITS.stops} strings that end the reply.`),
  ...fieldsOf(SAMPLING, 'anthropic'),
  stream: honoured(z.boolean(), 'Answer as server-sent events.', false),
  output_config: honoured(
    z.looseObject({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
      format: format.nullish(),
    }),
    'effort, as reasoning_effort of chat completions; format: a JSON schema that the reply fits.',
    undefined,
    { elsewhere: ['response_format', ...CONSTRAINT_NAMES, 'regex', 'ebnf'] },
  ),
  output_format: honoured(format, 'Older name of output_config.format.'),
  metadata: noEffect('Who asks.'),
  service_tier: noEffect('Which tier bills and serves.'),
  inference_geo: noEffect('Where to compute.'),
  cache_control: noEffect('What to keep in the cache; it looks by content.'),
  container: neutralOnly('A container for tools of the server.'),
  mcp_servers: neutralOnly('Servers with tools.'),
  context_management: noEffect('What to leave out of a long conversation: nothing is.'),
} satisfies FieldTable;

export type PromptBody = HonouredBody<typeof PROMPT_FIELDS> & { model: string };
export type MessageBody = HonouredBody<typeof MESSAGE_FIELDS> & { model: string };

export const COUNT_FIELDS = PROMPT_FIELDS;
