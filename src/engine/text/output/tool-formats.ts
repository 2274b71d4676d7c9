// Table of tool call formats. Sources: the chat templates of the models, and their output.

import type { JsonBody, NamedBody, ToolFormat } from './format.ts';
import { NAME_AND_ARGUMENTS, TAGGED_FORMATS, TOOL_CALL } from './tagged-formats.ts';

const NAME_AND_PARAMETERS: JsonBody = { kind: 'json', name: 'name', arguments: ['parameters', 'arguments'] };

const DEEPSEEK = {
  section: { begin: '<｜tool▁calls▁begin｜>', end: '<｜tool▁calls▁end｜>' },
  call: { begin: '<｜tool▁call▁begin｜>', end: '<｜tool▁call▁end｜>' },
};

/** The tag precedes the list of all calls in older models, and each call in newer ones, which write no list. */
const MISTRAL = { begin: '[TOOL_CALLS]', end: '' };
/** Mistral's templates refuse ids of another length. */
const MISTRAL_IDS = { idLength: 9 };
const GIGACHAT_3 = { begin: 'function call<|role_sep|>\n', end: '' };
const GIGACHAT_31 = { begin: '<|function_call|>', end: '' };
const NAME_AND_MARK: NamedBody = {
  kind: 'named',
  separator: '[ARGS]',
  aside: '[CALL_ID]',
  mayLackSeparator: true,
};

/** Format for models without one of their own: the prompt describes it, and grammars write it. */
export const JSON_CALLS: ToolFormat = {
  name: 'json',
  list: 'must',
  bare: '[{',
  bodies: [NAME_AND_PARAMETERS],
};

const PLAMO = (word: string): string => `<|plamo:${word}:plamo|>`;

const FORMATS: readonly ToolFormat[] = [
  { name: 'hermes', call: TOOL_CALL, bodies: [NAME_AND_ARGUMENTS], lineBreaks: true },
  {
    name: 'llama3',
    section: { begin: '<|python_tag|>', end: '<|eom_id|>' },
    separators: [';', ','],
    bare: '{',
    anywhere: true,
    bodies: [NAME_AND_PARAMETERS],
  },
  {
    name: 'pythonic',
    section: { begin: '<|python_start|>', end: '<|python_end|>' },
    list: 'must',
    bare: '[',
    anywhere: true,
    bodies: [{ kind: 'python' }],
  },
  {
    name: 'lfm2',
    section: { begin: '<|tool_call_start|>', end: '<|tool_call_end|>' },
    echoes: true,
    list: 'must',
    bodies: [{ kind: 'python' }, NAME_AND_ARGUMENTS],
  },
  {
    name: 'mistral',
    section: MISTRAL,
    list: 'may',
    bodies: [NAME_AND_MARK, NAME_AND_ARGUMENTS],
    ...MISTRAL_IDS,
  },
  {
    name: 'mistral_json',
    section: MISTRAL,
    list: 'must',
    bodies: [NAME_AND_ARGUMENTS, NAME_AND_MARK],
    ...MISTRAL_IDS,
  },
  {
    name: 'deepseek_v3',
    ...DEEPSEEK,
    bodies: [{ kind: 'named', before: 'function<｜tool▁sep｜>', separator: '\n```json\n', after: '\n```' }],
  },
  { name: 'deepseek_v31', ...DEEPSEEK, bodies: [{ kind: 'named', separator: '<｜tool▁sep｜>' }] },
  {
    name: 'kimi_k2',
    section: { begin: '<|tool_calls_section_begin|>', end: '<|tool_calls_section_end|>' },
    call: { begin: '<|tool_call_begin|>', end: '<|tool_call_end|>' },
    bodies: [{ kind: 'named', separator: '<|tool_call_argument_begin|>' }],
    namesAreIds: true,
  },
  {
    name: 'minimax_m1',
    section: { begin: '<tool_calls>', end: '</tool_calls>' },
    list: 'may',
    separators: ['\n'],
    bodies: [NAME_AND_ARGUMENTS],
    lineBreaks: true,
  },
  {
    name: 'plamo3',
    section: { begin: PLAMO('begin_tool_requests'), end: PLAMO('end_tool_requests') },
    call: { begin: PLAMO('begin_tool_request'), end: PLAMO('end_tool_request') },
    bodies: [
      {
        kind: 'named',
        before: PLAMO('begin_tool_name'),
        separator: `${PLAMO('end_tool_name')}${PLAMO('begin_tool_arguments')}<|plamo:constrain|>json<|plamo:msg|>`,
        after: PLAMO('end_tool_arguments'),
      },
    ],
  },
  {
    name: 'inkling',
    call: { begin: '<|content_invoke_tool_json|>', end: '<|end_message|>' },
    bodies: [{ kind: 'json', name: 'name', arguments: ['args'] }],
  },
  {
    name: 'interns1',
    section: { begin: '<|action_start|><|plugin|>\n', end: '<|action_end|>' },
    otherSections: [{ begin: '<|action_start|> <|plugin|>', end: '<|action_end|>' }],
    bodies: [NAME_AND_PARAMETERS],
  },
  { name: 'gigachat3', section: GIGACHAT_3, otherSections: [GIGACHAT_31], bodies: [NAME_AND_ARGUMENTS] },
  { name: 'gigachat31', section: GIGACHAT_31, otherSections: [GIGACHAT_3], bodies: [NAME_AND_ARGUMENTS] },
  {
    name: 'gemma4',
    call: { begin: '<|tool_call>', end: '<tool_call|>' },
    bodies: [{ kind: 'braces', before: 'call:', otherBefore: ':', quote: '<|"|>' }],
  },
  {
    name: 'functiongemma',
    call: { begin: '<start_function_call>', end: '<end_function_call>' },
    bodies: [{ kind: 'braces', before: 'call:', quote: '<escape>' }],
  },
  {
    name: 'cohere',
    section: { begin: '<|START_ACTION|>', end: '<|END_ACTION|>' },
    list: 'must',
    bodies: [{ kind: 'json', id: 'tool_call_id', name: 'tool_name', arguments: ['parameters'] }],
    lineBreaks: true,
  },
  {
    name: 'apertus',
    section: { begin: '<|tools_prefix|>', end: '<|tools_suffix|>' },
    list: 'must',
    bodies: [{ kind: 'json', name: null, arguments: [] }],
  },
  {
    // Some Granite models from 3.1 on write `<tool_call>` or no tag.
    name: 'granite',
    section: { begin: '<|tool_call|>', end: '' },
    otherSections: [TOOL_CALL],
    list: 'must',
    bare: '[',
    marked: true,
    bodies: [NAME_AND_ARGUMENTS],
  },
  {
    name: 'granite_20b_fc',
    section: { begin: '<function_call> ', end: '' },
    bodies: [NAME_AND_ARGUMENTS],
  },
  {
    name: 'nemotron',
    section: { begin: '<TOOLCALL>', end: '</TOOLCALL>' },
    list: 'must',
    bodies: [NAME_AND_ARGUMENTS],
  },
  {
    name: 'apriel', // and Hunyuan A13B, Jamba
    section: { begin: '<tool_calls>', end: '</tool_calls>' },
    list: 'must',
    bodies: [NAME_AND_ARGUMENTS],
  },
  { name: 'functools', section: { begin: 'functools', end: '' }, list: 'must', bodies: [NAME_AND_ARGUMENTS] },
  {
    // A bare list, or a list in the tags of other formats.
    name: 'xlam',
    otherSections: [TOOL_CALL, { begin: '[TOOL_CALLS]', end: '' }, { begin: '```json', end: '```' }],
    list: 'must',
    bare: '[',
    anywhere: true,
    bodies: [NAME_AND_ARGUMENTS],
  },
  {
    name: 'olmo3',
    section: { begin: '<function_calls>', end: '</function_calls>' },
    separators: ['\n'],
    bodies: [{ kind: 'python' }],
  },
  {
    name: 'functionary',
    call: { begin: '<function=', end: '</function>' },
    bodies: [{ kind: 'named', separator: '>' }],
  },
  ...TAGGED_FORMATS,
  JSON_CALLS,
];

export const TOOL_FORMATS: ReadonlyMap<string, ToolFormat> = new Map(
  FORMATS.map((format) => [format.name, format]),
);
