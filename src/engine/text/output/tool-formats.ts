// Table of tool call formats. Sources: the chat templates of the models, and their output.

import type { JsonBody, NamedBody, ToolFormat } from './format.ts';
import {
  ARGUMENT_TAGS,
  argumentTags,
  attributeTags,
  DSML,
  FUNCTION_TAGS,
  TYPED,
  typedTags,
} from './tag-bodies.ts';

const NAME_AND_ARGUMENTS: JsonBody = { kind: 'json', name: 'name', arguments: ['arguments', 'parameters'] };
const NAME_AND_PARAMETERS: JsonBody = { kind: 'json', name: 'name', arguments: ['parameters', 'arguments'] };

const TOOL_CALL = { begin: '<tool_call>', end: '</tool_call>' };

const LONGCAT = {
  call: { begin: '<longcat_tool_call>', end: '</longcat_tool_call>' },
  lineBreaks: true,
};
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

const FORMATS: readonly ToolFormat[] = [
  { name: 'hermes', call: TOOL_CALL, bodies: [NAME_AND_ARGUMENTS], lineBreaks: true },
  { name: 'qwen3_coder', call: TOOL_CALL, bodies: [FUNCTION_TAGS], lineBreaks: true },
  { name: 'mimo', call: TOOL_CALL, bodies: [{ ...FUNCTION_TAGS, newlines: false }], lineBreaks: true },
  {
    name: 'seed_oss',
    call: { begin: '<seed:tool_call>', end: '</seed:tool_call>' },
    bodies: [{ ...FUNCTION_TAGS, newlines: 'may' }],
    lineBreaks: true,
  },
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
    bodies: [{ kind: 'python' }],
  },
  {
    name: 'lfm2',
    section: { begin: '<|tool_call_start|>', end: '<|tool_call_end|>' },
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
    name: 'deepseek_v32',
    section: { begin: '<｜DSML｜function_calls>', end: '</｜DSML｜function_calls>' },
    bodies: [DSML],
    lineBreaks: true,
  },
  {
    name: 'deepseek_v4',
    section: { begin: '<｜DSML｜tool_calls>', end: '</｜DSML｜tool_calls>' },
    bodies: [DSML],
    lineBreaks: true,
  },
  { name: 'glm45', call: TOOL_CALL, bodies: [ARGUMENT_TAGS], lineBreaks: true },
  { name: 'glm47', call: TOOL_CALL, bodies: [ARGUMENT_TAGS] },
  {
    name: 'hunyuan',
    section: { begin: '<tool_calls>', end: '</tool_calls>' },
    call: TOOL_CALL,
    bodies: [{ ...ARGUMENT_TAGS, name: { begin: '', end: '<tool_sep>' } }],
    lineBreaks: true,
  },
  // LongCat's first models were trained on JSON in its tags, later ones on keys and values.
  { name: 'longcat', ...LONGCAT, bodies: [NAME_AND_ARGUMENTS, argumentTags('longcat_')] },
  { name: 'longcat_tags', ...LONGCAT, bodies: [argumentTags('longcat_'), NAME_AND_ARGUMENTS] },
  {
    name: 'k2_horizon',
    section: { begin: '<ifm|tool_calls>', end: '</ifm|tool_calls>' },
    call: { begin: '<ifm|tool_call>', end: '</ifm|tool_call>' },
    separators: ['\n'],
    bodies: [typedTags('ifm|'), NAME_AND_ARGUMENTS],
  },
  {
    name: 'step3',
    section: { begin: '<｜tool_calls_begin｜>', end: '<｜tool_calls_end｜>' },
    call: { begin: '<｜tool_call_begin｜>', end: '<｜tool_call_end｜>' },
    bodies: [attributeTags('steptml:', [TYPED], 'function<｜tool_sep｜>')],
  },
  {
    name: 'kimi_k2',
    section: { begin: '<|tool_calls_section_begin|>', end: '<|tool_calls_section_end|>' },
    call: { begin: '<|tool_call_begin|>', end: '<|tool_call_end|>' },
    bodies: [{ kind: 'named', separator: '<|tool_call_argument_begin|>' }],
    namesAreIds: true,
  },
  {
    name: 'minimax_m2',
    section: { begin: '<minimax:tool_call>', end: '</minimax:tool_call>' },
    bodies: [attributeTags('', [TYPED])],
    lineBreaks: true,
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
    name: 'dots',
    section: { begin: '<dots_function_call>', end: '</dots_function_call>' },
    bodies: [attributeTags('', [TYPED]), NAME_AND_ARGUMENTS],
    lineBreaks: true,
  },
  {
    name: 'minicpm5',
    bodies: [
      {
        kind: 'tagged',
        name: { begin: '<function name="', end: '">' },
        key: { begin: '<param name="', end: '"' },
        value: {
          begins: [TYPED, { text: '><![CDATA[', reads: 'text', end: ']]></param>' }],
          end: '</param>',
        },
        close: '</function>',
      },
    ],
    lineBreaks: true,
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
  JSON_CALLS,
];

export const TOOL_FORMATS: ReadonlyMap<string, ToolFormat> = new Map(
  FORMATS.map((format) => [format.name, format]),
);
