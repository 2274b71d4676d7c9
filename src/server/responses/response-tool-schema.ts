// The tools of a request for a response: functions, free-form tools, both in namespaces, and a search that the client runs.

import { z } from 'zod';
import { FUNCTION, TOOL_CHOICES, TOOL_MODES } from '../../options/conversation.ts';
import { filled, list, MOST_TOOLS, silent } from '../body/bounded.ts';
import { membersOf } from '../body/setting-fields.ts';
import { typedObject } from '../body/unknown-members.ts';

// Silent members have no effect: every tool is shown to the model from the start, and only the model calls it.

const inputFormat = z
  .looseObject({
    type: z.enum(['text', 'grammar']),
    syntax: z.enum(['lark', 'regex']).optional(),
    definition: filled.optional(),
  })
  .superRefine((format, context) => {
    const missing = (['syntax', 'definition'] as const).find((name) => format[name] === undefined);
    if (format.type === 'text' || missing === undefined) return;
    const params = { code: 'missing_required_parameter' };
    context.addIssue({ code: 'custom', path: [missing], message: 'is required in a grammar', params });
  });

const { name, description, parameters, strict } = membersOf(FUNCTION);

const called = {
  name,
  description,
  defer_loading: silent,
  allowed_callers: silent,
};

const CALLED = {
  function: z.looseObject({
    ...called,
    parameters,
    strict,
    output_schema: silent,
  }),
  custom: z.looseObject({ ...called, format: inputFormat.nullish() }),
};

const MEMBERS = {
  ...CALLED,
  namespace: z.looseObject({
    name,
    description,
    tools: list(tools(CALLED), MOST_TOOLS).min(1),
  }),
  tool_search: z.looseObject({
    execution: z.literal('client'),
    description,
    parameters,
  }),
  // Never offered to the model, so its settings have no effect.
  web_search: z.looseObject({
    external_web_access: silent,
    filters: silent,
    search_content_types: silent,
    search_context_size: silent,
    user_location: silent,
  }),
};

/** Schema of tools of the given types. */
function tools(members: Readonly<Record<string, z.ZodObject>>) {
  return typedObject(members, {
    refusal: (type, types) => ({
      message: `is ${type}, and this server runs no tools of its own; send one of ${types.join(', ')}`,
      code: 'unsupported',
    }),
  });
}

export const toolSchema = tools(MEMBERS);

export type RequestTool = z.infer<typeof toolSchema>;
type ToolType = keyof typeof MEMBERS;
/** A tool of one type after its check by the schema. */
export type ToolOf<T extends ToolType> = { type: T } & z.infer<(typeof MEMBERS)[T]>;
export type CheckedTool = { [T in ToolType]: ToolOf<T> }[ToolType];

const named = (type: 'function' | 'custom') =>
  z.looseObject({ type: z.literal(type), name: filled, namespace: filled.nullish() });
const chosen = z.union([named('function'), named('custom')]);

export const toolChoice = z.union([
  z.enum(TOOL_CHOICES),
  named('function'),
  named('custom'),
  z.looseObject({
    type: z.literal('allowed_tools'),
    mode: z.enum(TOOL_MODES),
    tools: list(chosen, MOST_TOOLS).min(1),
  }),
]);

export type ToolChoiceBody = z.infer<typeof toolChoice>;
export type ChosenTool = z.infer<typeof chosen>;
