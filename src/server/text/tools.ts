// Converts tools and tool_choice, in OpenAI's current and older form, to the engine's.

import { z } from 'zod';
import type { TextRequest, Tool, ToolChoice } from '../../index.ts';
import { FUNCTION, TOOL_CHOICES, TOOL_MODES } from '../../options/conversation.ts';
import { list, MOST_TOOLS } from '../body/bounded.ts';
import { membersOf } from '../body/setting-fields.ts';
import { refuseField } from '../http/errors.ts';
import { by, type FieldTable, type HonouredBody, honoured, show } from '../body/fields.ts';
import { readSchema } from '../body/json-schema.ts';

export const toolFunction = z.looseObject(membersOf(FUNCTION));
const named = toolFunction.pick({ name: true });
const tool = z.looseObject({ type: z.literal('function'), function: toolFunction });

const choice = z
  .looseObject({
    type: z.enum(['function', 'allowed_tools']),
    function: named.optional(),
    allowed_tools: z
      .looseObject({
        mode: z.enum(TOOL_MODES),
        tools: list(z.looseObject({ type: z.literal('function'), function: named }), MOST_TOOLS).min(1),
      })
      .optional(),
  })
  .superRefine((value, context) => {
    if (value[value.type] !== undefined) return;
    context.addIssue({
      code: 'custom',
      path: [value.type],
      message: `is required where the type is ${value.type}`,
      params: { code: 'missing_required_parameter' },
    });
  });

export const TOOL_FIELDS = by('engine/text/output/reply-plan.ts', {
  tools: honoured(
    list(tool, MOST_TOOLS),
    'Functions the model may call; their arguments keep to the declared parameters, exactly if `strict` is true, not if it is false.',
    undefined,
    { stricter: 'each name once, parameters of an object' },
  ),
  tool_choice: honoured(
    z.union([z.enum(TOOL_CHOICES), choice]),
    'auto, none, required, one function, or allowed_tools {mode, tools}.',
    'auto',
  ),
  parallel_tool_calls: honoured(z.boolean(), 'false: one call at most.', true),
  functions: honoured(
    list(toolFunction, MOST_TOOLS),
    'Older form of tools: the reply has function_call, one at most.',
  ),
  function_call: honoured(z.union([z.enum(['auto', 'none']), named]), 'Older form of tool_choice.', 'auto'),
} satisfies FieldTable);

type Definition = z.infer<typeof toolFunction>;

type ToolFields = HonouredBody<typeof TOOL_FIELDS>;

/** Returns the tools for the prompt after a check of their parameters. Throws RequestError. */
export function toTools({ tools, functions }: ToolFields): Tool[] | undefined {
  const given = tools?.map((entry, at) => ({ entry: entry.function, path: `tools.${at}.function` }));
  const older = functions?.map((entry, at) => ({ entry, path: `functions.${at}` }));
  return (given ?? older)?.map(({ entry, path }) => toTool(entry, path));
}

function toTool({ name: called, description, parameters, strict }: Definition, path: string): Tool {
  const at = `${path}.parameters`;
  const type = parameters?.['type'];
  if (type !== undefined && type !== 'object' && type !== 'dict')
    refuseField(`${at}.type`, `must be "object", as arguments come by name, got ${show(type)}`);
  return {
    type: 'function',
    function: {
      name: called,
      ...(description != null && { description }),
      ...(parameters && { parameters: readSchema(parameters, at, refuseField) as Record<string, unknown> }),
      ...(strict != null && { strict }),
    },
  };
}

export function toToolRequest(body: ToolFields): Pick<TextRequest, 'toolChoice' | 'parallelToolCalls'> {
  const toolChoice = toChoice(body);
  const single = body.functions !== undefined || body.parallel_tool_calls === false;
  const hasTools = body.tools !== undefined || body.functions !== undefined;
  return {
    ...(hasTools && toolChoice !== 'auto' && { toolChoice }),
    ...(hasTools && single && { parallelToolCalls: false }),
  };
}

function toChoice({ tool_choice: wanted, function_call: older }: ToolFields): ToolChoice {
  if (wanted === undefined) return older ?? 'auto';
  if (typeof wanted === 'string') return wanted;
  if (wanted.type === 'function') return { name: wanted.function?.name ?? '' };
  const { mode = 'auto', tools = [] } = wanted.allowed_tools ?? {};
  return { mode, names: tools.map((entry) => entry.function.name) };
}

/** Checks rules that involve both the tools and the choice among them. */
export function checkTools(body: ToolFields): void {
  if (body.tools && body.functions) refuseField('functions', 'is the older form of tools; send one of them');
  if (body.tool_choice !== undefined && body.function_call !== undefined)
    refuseField('function_call', 'is the older form of tool_choice; send one of them');
  const field = body.function_call === undefined ? 'tool_choice' : 'function_call';
  const names = (body.tools?.map((entry) => entry.function) ?? body.functions ?? []).map(
    (entry) => entry.name,
  );
  const seen = new Set<string>();
  const twice = names.find((one) => seen.has(one) || !seen.add(one));
  if (twice !== undefined)
    refuseField(
      body.tools ? 'tools' : 'functions',
      `has ${show(twice)} twice; give each function its own name`,
    );

  const wanted = toChoice(body);
  if (wanted === 'auto' || wanted === 'none') return;
  if (names.length === 0)
    refuseField(field, 'asks for a call and needs tools; send the functions it may call');
  const chosen = wanted === 'required' ? [] : 'names' in wanted ? wanted.names : [wanted.name];
  const unknown = chosen.find((one) => !names.includes(one));
  if (unknown !== undefined)
    refuseField(
      field,
      `names ${show(unknown)}, and the tools are ${names.join(', ')}; send the name of one of them`,
    );
}
