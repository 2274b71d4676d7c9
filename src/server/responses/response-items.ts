// The items of a response's input: messages, calls and their outputs, reasoning, tools that are added later.

import { z } from 'zod';
import { filled, list, MOST_TOOLS, MOST_TURNS } from '../body/bounded.ts';
import { toolSchema } from './response-tool-schema.ts';
import { typedObject, withMembers } from '../body/unknown-members.ts';

/** Members of replies that requests send back; they have no effect. */
const echoed = z.unknown().optional();

const TEXT_PARTS = ['input_text', 'output_text', 'text', 'refusal'];

/** Parts with media. Files that were uploaded are not kept here. */
export const MEDIA_PARTS = {
  input_image: z.looseObject({
    image_url: filled,
    /** Without effect: the model's own processor decides the size. */
    detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
  }),
  input_file: z.looseObject({ file_data: filled.nullish(), file_url: filled.nullish(), filename: echoed }),
  input_audio: z.looseObject({ input_audio: z.looseObject({ data: filled, format: filled.nullish() }) }),
};

type MediaPart = keyof typeof MEDIA_PARTS;
/** A part with a medium after its check by the schema. */
export type PartOf<T extends MediaPart> = z.infer<(typeof MEDIA_PARTS)[T]> & { type: T };
const MEDIA_TYPES = Object.keys(MEDIA_PARTS);

const part = z
  .looseObject({
    type: z.string(),
    text: z.string().optional(),
    refusal: z.string().optional(),
    annotations: echoed,
    logprobs: echoed,
  })
  .superRefine((given, context) => {
    const { type, text, refusal } = given;
    const issue = (message: string, path: string[], code?: string) =>
      context.addIssue({ code: 'custom', path, message, ...(code && { params: { code } }) });
    if (MEDIA_TYPES.includes(type)) {
      const { error } = MEDIA_PARTS[type as MediaPart].safeParse(given);
      for (const found of error?.issues ?? []) context.addIssue({ ...found, input: given } as never);
      if (type === 'input_file' && !given['file_data'] && !given['file_url'])
        issue('is required in such a part, or file_url', ['file_data'], 'missing_required_parameter');
    } else if (!TEXT_PARTS.includes(type))
      issue(`must be one of ${[...TEXT_PARTS, ...MEDIA_TYPES].join(', ')}, got ${JSON.stringify(type)}`, [
        'type',
      ]);
    else if ((type === 'refusal' ? refusal : text) === undefined)
      issue('is required in such a part', [type === 'refusal' ? type : 'text'], 'missing_required_parameter');
  });

const checkedPart = withMembers(part, (type) => MEDIA_PARTS[type as MediaPart]);
const content = z.union([z.string(), list(checkedPart, MOST_TURNS)]);

/** Message between agents of a program. Nothing is encrypted: encrypted content contains plain text that a model wrote. */
const agentPart = z.union([
  z.looseObject({ type: z.literal('input_text'), text: z.string() }),
  z.looseObject({ type: z.literal('encrypted_content'), encrypted_content: z.string() }),
]);

const thought = z.looseObject({ type: z.string(), text: z.string() });

const MEMBERS = {
  message: z.looseObject({
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content,
    phase: echoed,
  }),
  agent_message: z.looseObject({ author: echoed, recipient: echoed, content: list(agentPart, MOST_TURNS) }),
  function_call: z.looseObject({
    call_id: filled,
    name: filled,
    namespace: filled.nullish(),
    arguments: z.string(),
  }),
  function_call_output: z.looseObject({ call_id: filled, output: content }),
  custom_tool_call: z.looseObject({
    call_id: filled,
    name: filled,
    namespace: filled.nullish(),
    input: z.string(),
  }),
  custom_tool_call_output: z.looseObject({ call_id: filled, name: echoed, output: content }),
  tool_search_call: z.looseObject({ call_id: filled, execution: echoed, arguments: z.unknown() }),
  tool_search_output: z.looseObject({
    call_id: filled,
    execution: echoed,
    tools: list(toolSchema, MOST_TOOLS),
  }),
  additional_tools: z.looseObject({ role: echoed, tools: list(toolSchema, MOST_TOOLS) }),
  reasoning: z.looseObject({
    content: list(thought, MOST_TURNS).nullish(),
    summary: list(thought, MOST_TURNS).nullish(),
    encrypted_content: echoed,
  }),
  item_reference: z.looseObject({ id: filled }),
};

export type ItemType = keyof typeof MEMBERS;

export const inputItem = typedObject(MEMBERS, {
  base: z.looseObject({ type: z.string().optional(), id: echoed, status: echoed }),
  usual: 'message',
  refusal: (type, types) => ({
    message: `must be one of ${types.join(', ')}, got ${JSON.stringify(type)}`,
    code: 'unsupported',
  }),
});

export type InputItem = z.infer<typeof inputItem>;

/** An item of one type after its check by the schema. */
export type ItemOf<T extends ItemType> = z.infer<(typeof MEMBERS)[T]>;
export type ItemContent = z.infer<typeof content>;
